/**
 * Where to go after sign-in: a path of this panel, else the start page. Never another origin (open
 * redirect).
 */
export function safeRedirect(target: string | null): string {
  if (target === null || !target.startsWith('/') || target.includes('\\')) return '/';
  try {
    const base = 'http://panel.invalid';
    const url = new URL(target, base);
    return url.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}${url.hash}` : '/';
  } catch {
    return '/';
  }
}
