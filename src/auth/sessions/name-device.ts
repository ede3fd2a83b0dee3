/**
 * The browser and the system that a user agent names, both from closed sets: the text is the
 * client's own and stands in mails. Empty for what is no browser that we know.
 */
export function nameDevice(userAgent: string): string {
  const browser = BROWSERS.find(([mark]) => userAgent.includes(mark))?.[1];
  const system = SYSTEMS.find(([mark]) => userAgent.includes(mark))?.[1];
  return browser && system ? `${browser} (${system})` : '';
}

/**
 * Whether two user agents are of one family: browser and system, or for other programs the name
 * before the version.
 */
export const isSameFamily = (one: string, other: string): boolean => familyOf(one) === familyOf(other);

const familyOf = (userAgent: string): string => nameDevice(userAgent) || (userAgent.split('/')[0] ?? '');

// The first that fits: most browsers name others after themselves.
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
