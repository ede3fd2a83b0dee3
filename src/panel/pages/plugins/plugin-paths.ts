export const pluginPath = (key: string): string => `/api/plugin/task/${encodeURIComponent(key)}`;

export const iconPath = (key: string): string => `${pluginPath(key)}/icon`;
