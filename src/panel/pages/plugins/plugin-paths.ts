export const pluginPath = (key: string): string => `/api/plugin/task/${encodeURIComponent(key)}`;

/** Path prefixes to refetch after a plugin was changed, enabled or disabled. */
export const pluginDependentPaths = [
  '/api/plugin',
  '/api/model',
  '/api/price',
  '/api/attention',
  '/api/channel',
] as const;

export const iconPath = (key: string): string => `${pluginPath(key)}/icon`;
