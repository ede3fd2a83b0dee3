import { ApiError } from '../../api/api-error.ts';

export const pluginPath = (key: string): string => `/api/plugin/task/${encodeURIComponent(key)}`;

/** The page of a move: `to` takes the place of `from`. */
export const movePath = (from: string, to: string): string =>
  `/plugins/${encodeURIComponent(from)}/move?to=${encodeURIComponent(to)}`;

/** Path prefixes to refetch after a plugin was changed, enabled or disabled. */
export const pluginDependentPaths = [
  '/api/plugin',
  '/api/model',
  '/api/price',
  '/api/attention',
  '/api/channel',
] as const;

/** Whether a plugin is refused because another one serves the same model. */
export const isModelConflict = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.code === 'PLUGIN_CONFLICT' &&
  (error.details as { kind?: unknown } | undefined)?.kind === 'protocol_model';

export const iconPath = (key: string): string => `${pluginPath(key)}/icon`;

/** A new channel with its vendor chosen. */
export const newChannelPath = (plugin: string): string => `/channels/new?${new URLSearchParams({ plugin })}`;

/** The playground with a model chosen. */
export const playgroundPath = (plugin: string, model: string): string =>
  `/playground?${new URLSearchParams({ plugin, model })}`;
