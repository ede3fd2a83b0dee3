import { type NavigateOptions, type To, useLocation, useNavigate } from 'react-router';

/**
 * Navigates only while the user is still on the page that called it: a late answer must not take
 * them away from another page.
 */
export function useScopedNavigate(): (to: To, options?: NavigateOptions) => void {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  return (to, options) => {
    if (window.location.pathname === pathname) void navigate(to, options);
  };
}
