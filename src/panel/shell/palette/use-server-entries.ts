import { useDebouncedValue } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { playgroundPath } from '../../api/plugin-paths.ts';
import type { AccountPage, CallableModel, ChannelName, KeyName, PluginSummary, TaskSummary } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery, useLocalisedQuery } from '../../session/use-api.ts';
import { statusText, statusTone } from '../../ui/display/status-label.tsx';
import { type Format, useFormat } from '../../ui/display/use-format.ts';
import { filterEntries, MAX_ENTRIES, MAX_TASKS, type PaletteEntry } from './find-entries.ts';

/** Shorter queries find too much, and cost a search for every letter. */
const MIN_LENGTH = 2;
const DEBOUNCE_MS = 150;

/** What the gateway knows: the user's models, tasks and keys; for administrators also the rest. */
export function useServerEntries(query: string): { entries: PaletteEntry[]; isSearching: boolean } {
  const { t } = useTranslation();
  const format = useFormat();
  const role = useRole();
  const ownId = useSessionSnapshot().bundle?.user.id;
  const [settled] = useDebouncedValue(query.trim(), DEBOUNCE_MS);
  const isAdmin = role >= roles.admin;
  const enabled = settled.length >= MIN_LENGTH;
  const q = encodeURIComponent(settled.slice(0, 200));
  const scope = isAdmin ? '&scope=all' : '';
  const tasks = useApiQuery<{ items: readonly TaskSummary[] }>(
    `/api/task?page=1&page_size=${MAX_TASKS + 1}&q=${q}${scope}`,
    { enabled, abortSuperseded: true },
  );
  const forAdmins = { enabled: enabled && isAdmin, abortSuperseded: true };
  const users = useApiQuery<AccountPage>(`/api/user?page=1&page_size=${MAX_ENTRIES}&keyword=${q}`, forAdmins);
  const keys = useApiQuery<KeyName[]>(`/api/token/names?keyword=${q}${scope}`, { enabled, abortSuperseded: true });
  const channels = useApiQuery<ChannelName[]>(`/api/channel/names?keyword=${q}`, forAdmins);
  // Whole lists, which other pages read too.
  const models = useApiQuery<CallableModel[]>('/api/model', { enabled });
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task', { enabled: enabled && role >= roles.root });
  const foundTasks = tasks.isPlaceholderData ? [] : (tasks.data?.items ?? []);
  if (!enabled) return { entries: [], isSearching: false };
  const isSearching =
    settled !== query.trim() || [tasks, users, keys, channels, models, plugins].some(({ isFetching }) => isFetching);
  return {
    isSearching,
    entries: [
      ...filterEntries((models.data ?? []).map(toModel), settled),
      ...first((keys.isPlaceholderData ? [] : (keys.data ?? [])).map(toKey(ownId))),
      ...first((channels.isPlaceholderData ? [] : (channels.data ?? [])).map(toChannel)),
      ...filterEntries((plugins.data ?? []).map(toPlugin), settled),
      ...(users.isPlaceholderData ? [] : (users.data?.items ?? [])).map(toUser),
      ...foundTasks.slice(0, MAX_TASKS).map(toTask(format)),
      ...(foundTasks.length > MAX_TASKS
        ? [
            {
              id: 'tasks:all',
              group: 'tasks' as const,
              label: t('palette.allTasks', { query: settled }),
              to: `/tasks?q=${q}${scope}`,
            },
          ]
        : []),
    ],
  };
}

const toModel = ({ model, plugin_key, plugin_name }: CallableModel): PaletteEntry => ({
  id: `models:${plugin_key}/${model}`,
  group: 'models',
  label: model,
  note: plugin_name,
  to: playgroundPath(plugin_key, model),
});

const toPlugin = ({ key, meta }: PluginSummary): PaletteEntry => ({
  id: `plugins:${key}`,
  group: 'plugins',
  label: meta?.name ?? key,
  note: key,
  to: `/plugins/${encodeURIComponent(key)}`,
});

const toTask =
  (format: Format) =>
  ({ task_id, input, model, ...task }: TaskSummary): PaletteEntry => ({
    id: `task:${task_id}`,
    group: 'tasks',
    label: input || task_id,
    status: { tone: statusTone(task), text: statusText(task) },
    note: [model, 'username' in task ? task.username : '', format.ago(task.finish_time || task.created_at)]
      .filter(Boolean)
      .join(' · '),
    to: `/tasks/${encodeURIComponent(task_id)}`,
  });

const toUser = ({ id, username, display_name }: AccountPage['items'][number]): PaletteEntry => ({
  id: `user:${id}`,
  group: 'users',
  label: username,
  note: display_name === username ? '' : display_name,
  to: `/users/${id}`,
});

/** Another person's key has no page of its own here. */
const toKey =
  (ownId: number | undefined) =>
  ({ id, name, user_id, username, last_used_ip }: KeyName): PaletteEntry => ({
    id: `keys:${id}`,
    group: 'keys',
    label: name,
    ...(user_id === ownId
      ? { to: `/keys/${id}` }
      : { to: `/users/${user_id}?tab=keys`, note: [username, last_used_ip].filter(Boolean).join(' · ') }),
  });

const toChannel = ({ id, name }: ChannelName): PaletteEntry => ({
  id: `channels:${id}`,
  group: 'channels',
  label: name,
  to: `/channels/${id}`,
});

const first = (entries: PaletteEntry[]): PaletteEntry[] => entries.slice(0, MAX_ENTRIES);
