import { type NavigateOptions, type To, useLocation, useNavigate } from 'react-router';

/**
 * Leads on from the page where something was begun, and does nothing once the person is on another
 * page: an answer that comes late takes nobody away from where he has gone meanwhile.
 */
export function useScopedNavigate(): (to: To, options?: NavigateOptions) => void {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  return (to, options) => {
    if (window.location.pathname === pathname) void navigate(to, options);
  };
}
