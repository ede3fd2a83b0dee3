import { useMemo } from 'react';
import type { CallableModel } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';

/** Names of the plugins that the user may use, by key. */
export function usePluginNames(): ReadonlyMap<string, string> {
  const { data } = useApiQuery<CallableModel[]>('/api/model');
  return useMemo(() => new Map(data?.map(({ plugin_key, plugin_name }) => [plugin_key, plugin_name])), [data]);
}
