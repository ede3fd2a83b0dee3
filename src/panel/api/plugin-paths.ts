import { ApiError } from './api-error.ts';
import type { PluginSummary } from './types.ts';

export const pluginPath = (key: string): string => `/api/plugin/task/${encodeURIComponent(key)}`;

export const pluginPricesPath = (key: string): string => `/api/price/plugin/${encodeURIComponent(key)}`;

/** Whether the gateway knows the prices of a plugin: one that serves. */
export const hasPrices = ({ runtime_status: status }: Pick<PluginSummary, 'runtime_status'>): boolean =>
  status === 'registered' || status === 'disabled_fallback';

/** The page of a move: `to` takes the place of `from`. */
export const movePath = (from: string, to: string): string =>
  `/plugins/${encodeURIComponent(from)}/move?to=${encodeURIComponent(to)}`;

/** What activating a version would change. */
export const activatePath = (key: string, version: string): string =>
  `/plugins/${encodeURIComponent(key)}/activate?${new URLSearchParams({ version })}`;

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
