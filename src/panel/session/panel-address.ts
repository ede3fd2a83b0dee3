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

/** What the address of each list said when it was last shown, by its path. */
const queries = new Map<string, string>();

/** Remembers filters and page of a list, so that the link back to it leads there. */
export function rememberList(pathname: string, search: string): void {
  queries.set(pathname, search);
}

/** The list as it was left; as it begins if it was not shown yet. */
export const listAddress = (pathname: string): string => pathname + (queries.get(pathname) ?? '');

/** At sign-out: the next person starts over. */
export const forgetLists = (): void => queries.clear();
