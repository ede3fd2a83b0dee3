import { useDebouncedValue } from '@mantine/hooks';
import type { AccountPage, ApiKeyPage, ChannelPage, TaskSummary } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { roles, useRole } from '../../session/roles.ts';
import { filterEntries, MAX_ENTRIES, type PaletteEntry } from './find-entries.ts';

type Named = { id: number; name: string };

/** Shorter queries find too much, and cost a search for every letter. */
const MIN_LENGTH = 2;
const DEBOUNCE_MS = 150;
/** Channels and keys are few: one page of the list is filtered here. */
const LISTED = 100;

/** What the gateway knows: the user's tasks and keys; for administrators also the rest. */
export function useServerEntries(query: string): { entries: PaletteEntry[]; isSearching: boolean } {
  const role = useRole();
  const [settled] = useDebouncedValue(query.trim(), DEBOUNCE_MS);
  const isAdmin = role >= roles.admin;
  const enabled = settled.length >= MIN_LENGTH;
  const q = encodeURIComponent(settled.slice(0, 200));
  const scope = isAdmin ? '&scope=all' : '';
  const tasks = useApiQuery<{ items: readonly TaskSummary[] }>(
    `/api/task?page=1&page_size=${MAX_ENTRIES}&q=${q}${scope}`,
    { enabled },
  );
  const users = useApiQuery<AccountPage>(`/api/user?page=1&page_size=${MAX_ENTRIES}&keyword=${q}`, {
    enabled: enabled && isAdmin,
  });
  const keys = useApiQuery<ApiKeyPage>(`/api/token?page=1&page_size=${LISTED}`, { enabled });
  const channels = useApiQuery<ChannelPage>(`/api/channel?page=1&page_size=${LISTED}`, { enabled: enabled && isAdmin });
  if (!enabled) return { entries: [], isSearching: false };
  const isSearching = settled !== query.trim() || [tasks, users, keys, channels].some(({ isFetching }) => isFetching);
  return {
    isSearching,
    entries: [
      ...(tasks.isPlaceholderData ? [] : (tasks.data?.items ?? [])).map(toTask),
      ...filterEntries((keys.data?.items ?? []).map(toNamed('keys', '/keys')), settled),
      ...filterEntries((channels.data?.items ?? []).map(toNamed('channels', '/channels')), settled),
      ...(users.isPlaceholderData ? [] : (users.data?.items ?? [])).map(toUser),
    ],
  };
}

const toTask = ({ task_id, input, model, ...task }: TaskSummary): PaletteEntry => ({
  id: `task:${task_id}`,
  group: 'tasks',
  label: input || task_id,
  note: [model, 'username' in task ? task.username : ''].filter(Boolean).join(' · '),
  to: `/tasks/${encodeURIComponent(task_id)}`,
});

const toUser = ({ id, username, display_name }: AccountPage['items'][number]): PaletteEntry => ({
  id: `user:${id}`,
  group: 'users',
  label: username,
  note: display_name === username ? '' : display_name,
  to: `/users/${id}`,
});

const toNamed =
  (group: 'keys' | 'channels', path: string) =>
  ({ id, name }: Named): PaletteEntry => ({ id: `${group}:${id}`, group, label: name, to: `${path}/${id}` });
