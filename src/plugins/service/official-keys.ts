/** The keys of plugins that ship with this gateway, by those that the official marketplace uses. */
export const OFFICIAL_KEYS: Readonly<Record<string, string>> = {
  alibaba: 'ali',
  google: 'gemini',
  'vertex-ai': 'vertex',
};

/** The serving plugin that does the work of this one under its other key, if there is one. */
export function findCounterpart(key: string, isServing: (key: string) => boolean): string | null {
  const named = Object.entries(OFFICIAL_KEYS).flat();
  const at = named.indexOf(key);
  const other = at < 0 ? undefined : named[at % 2 === 0 ? at + 1 : at - 1];
  return other !== undefined && isServing(other) ? other : null;
}
