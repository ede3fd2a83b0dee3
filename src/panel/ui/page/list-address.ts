/** What the address of each list said when it was last shown, by its path. */
const queries = new Map<string, string>();

/** Remembers filters and page of a list, so that the link back to it leads there. */
export function rememberList(pathname: string, search: string): void {
  queries.set(pathname, search);
}

/** The list as it was left; as it begins if it was not shown yet. */
export const listAddress = (pathname: string): string => pathname + (queries.get(pathname) ?? '');

/** At sign-out: the next person begins anew. */
export const forgetLists = (): void => queries.clear();
