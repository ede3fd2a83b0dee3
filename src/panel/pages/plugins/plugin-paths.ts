export const pluginPath = (key: string): string => `/api/plugin/task/${encodeURIComponent(key)}`;

/** What is read anew once a plugin is another, serves, or serves no more. */
export const pluginDependentPaths = [
  '/api/plugin',
  '/api/model',
  '/api/price',
  '/api/attention',
  '/api/channel',
] as const;

export const iconPath = (key: string): string => `${pluginPath(key)}/icon`;
