/** Browser and system of a user agent string; null if unknown. */
export function parseUserAgent(userAgent: string): { browser: string; system: string } | null {
  const browser = firstMatch(userAgent, [
    [/\bEdg\//, 'Edge'],
    [/\bOPR\//, 'Opera'],
    [/\bFirefox\//, 'Firefox'],
    [/\b(?:Headless)?Chrome\//, 'Chrome'],
    [/\bSafari\//, 'Safari'],
  ]);
  const system = firstMatch(userAgent, [
    [/\bAndroid\b/, 'Android'],
    [/\biPhone\b|\biPad\b/, 'iOS'],
    [/\bWindows\b/, 'Windows'],
    [/\bMac OS X\b/, 'macOS'],
    [/\bLinux\b/, 'Linux'],
  ]);
  return browser !== null && system !== null ? { browser, system } : null;
}

function firstMatch(text: string, table: readonly (readonly [RegExp, string])[]): string | null {
  return table.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
