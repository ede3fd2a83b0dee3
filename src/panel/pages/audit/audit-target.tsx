import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { isObject } from '../../../kernel/json.ts';
import type { AuditEntry } from '../../api/types.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { useNamed } from '../../ui/form/name-select.tsx';
import { nameOption } from '../settings/option-texts.ts';
import { usePluginNames } from '../tasks/use-plugin-names.ts';
import classes from './audit.module.css';

/** Where names are found by id. */
const namePaths: Readonly<Record<string, string>> = {
  channel: '/api/channel/names',
  user: '/api/user/names',
  api_key: '/api/token/names',
};

/**
 * What a target such as `channel:3` or `plugin:kling@1.2.0` is called, and its page in the panel;
 * null if it has none.
 */
export function useAuditTarget({ target, detail }: Pick<AuditEntry, 'target' | 'detail'>): {
  name: string;
  path: string | null;
} {
  const { i18n } = useTranslation();
  const plugins = usePluginNames();
  const ownId = useSessionSnapshot().bundle?.user.id;
  const [, kind = '', id = ''] = /^([a-z_]+):(.+)$/.exec(target) ?? [];
  const namePath = namePaths[kind];
  const query: Record<string, string> = kind === 'api_key' ? { scope: 'all' } : {};
  const named = useNamed({ path: namePath ?? '', query, id: namePath === undefined ? '' : id });
  const name = named?.name || readName(detail);
  const encoded = encodeURIComponent(id);
  switch (kind) {
    case 'channel':
      return { name: name || `#${id}`, path: named ? `/channels/${encoded}` : null };
    case 'user':
      return { name: name || `#${id}`, path: `/users/${encoded}` };
    case 'api_key': {
      const owner = named?.user_id;
      const isOwn = owner === ownId;
      return { name: name || `#${id}`, path: owner ? (isOwn ? `/keys/${encoded}` : `/users/${owner}?tab=keys`) : null };
    }
    case 'task':
      return { name: id, path: `/tasks/${encoded}` };
    case 'oauth_provider':
      return { name: name || `#${id}`, path: `/settings/providers/${encoded}` };
    case 'option':
      return { name: i18n.exists(nameOption(id)) ? i18n.t(nameOption(id)) : id, path: `/settings?q=${encoded}` };
    case 'plugin': {
      const [key = '', version = ''] = id.split('@');
      return { name: `${plugins.get(key) ?? key} ${version}`.trim(), path: `/plugins/${encodeURIComponent(key)}` };
    }
    case 'price': {
      const model = id.slice(id.indexOf('/') + 1);
      return { name: model, path: `/prices?q=${encodeURIComponent(model)}` };
    }
    case 'node':
      return { name: readName(detail) || id, path: '/system' };
    default:
      return { name: target, path: null };
  }
}

/** A name that stands in what an entry keeps of its target. */
function readName({ after, before, ...own }: AuditEntry['detail']): string {
  for (const state of [after, before, own]) {
    const name = isObject(state) ? (state.name ?? state.username ?? state.host) : undefined;
    if (typeof name === 'string' && name !== '') return name;
  }
  return '';
}

/** The longest name that a row shows whole: a task's ID is longer. */
const maxShort = 28;

/** A name for a row, where a long ID loses its middle. All of it is there to be copied. */
export function TargetName({ name }: { name: string }) {
  if (name.length <= maxShort || name.includes(' ')) return name;
  return (
    <span title={name} className={classes.id}>
      <span>{name.slice(0, -6)}</span>
      {name.slice(-6)}
    </span>
  );
}

/** The target by its name, as a link where it has a page. `isShort`: as a row shows it. */
export function AuditTarget({ entry, isShort = false }: { entry: AuditEntry; isShort?: boolean }) {
  const { name, path } = useAuditTarget(entry);
  const shown = isShort ? <TargetName name={name} /> : name;
  return path === null ? (
    <Text size="sm" c="dimmed" span>
      {shown}
    </Text>
  ) : (
    <Anchor component={Link} to={path} size="sm">
      {shown}
    </Anchor>
  );
}

/** Leads to what happened to one channel, key, setting, … */
export function HistoryLink({ target }: { target: string }) {
  const { t } = useTranslation();
  if (target === '') return null;
  return (
    <Anchor component={Link} to={`/audit?target=${encodeURIComponent(target)}`} className={classes.history ?? ''}>
      {t('audit.history')}
    </Anchor>
  );
}
