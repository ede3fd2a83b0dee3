/**
 * The browser and the system that a user agent names. Both come from closed sets, since the client
 * chooses the text and we put the result into mails. Empty for an unknown browser.
 */
export function nameDevice(userAgent: string): string {
  const browser = BROWSERS.find(([mark]) => userAgent.includes(mark))?.[1];
  const system = SYSTEMS.find(([mark]) => userAgent.includes(mark))?.[1];
  return browser && system ? `${browser} (${system})` : '';
}

/**
 * Whether two user agents have the same browser and system, or for other programs the same name
 * before the version.
 */
export const isSameFamily = (one: string, other: string): boolean => readFamily(one) === readFamily(other);

const readFamily = (userAgent: string): string => nameDevice(userAgent) || (userAgent.split('/')[0] ?? '');

// The first match counts: most browsers also name others, after themselves.
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iOS'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;
