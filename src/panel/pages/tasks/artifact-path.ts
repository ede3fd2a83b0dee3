/** The content security policy allows this origin only, whatever public address a link has. */
export function artifactPath(url: string): string {
  const { pathname, search } = new URL(url, window.location.origin);
  return `${pathname}${search}`;
}
