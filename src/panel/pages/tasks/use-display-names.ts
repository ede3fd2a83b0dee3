import { useMemo } from 'react';
import type { AccountPage, CallableModel, ChannelPage } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { roles, useRole } from '../../session/roles.ts';

/** Names of the plugins that the user may use, by key. */
export function usePluginNames(): ReadonlyMap<string, string> {
  const { data } = useApiQuery<CallableModel[]>('/api/model');
  return useMemo(() => new Map(data?.map(({ plugin_key, plugin_name }) => [plugin_key, plugin_name])), [data]);
}

/** Names of channels by id, for administrators; empty for others. */
export function useChannelNames(): ReadonlyMap<string, string> {
  const enabled = useRole() >= roles.admin;
  const { data } = useApiQuery<ChannelPage>('/api/channel?page_size=100', { enabled });
  return useMemo(() => new Map(data?.items.map(({ id, name }) => [String(id), name])), [data]);
}

/** Names of the first hundred users by id, for administrators. */
export function useUserNames(wanted: boolean): ReadonlyMap<string, string> {
  const enabled = useRole() >= roles.admin && wanted;
  const { data } = useApiQuery<AccountPage>('/api/user?page_size=100', { enabled });
  return useMemo(() => new Map(data?.items.map(({ id, username }) => [String(id), username])), [data]);
}
