import { Code, Stack, Text, Title } from '@mantine/core';
import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { PluginPreview } from '../../api/types.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { TaskStatus } from '../../ui/display/status-label.tsx';
import { Section } from '../../ui/page/section.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { usageFieldLabel } from '../prices/usage-field.ts';
import { PermissionList, protocolName } from './permission-list.tsx';
import { RuleText } from './plugin-errors.tsx';
import classes from './plugins.module.css';

type Line = { kind: 'added' | 'removed' | 'changed'; text: string; note?: ReactNode };
type Group = { heading: string; lines: readonly Line[] };

const signs = { added: '+', removed: '−', changed: '~' } as const;

/**
 * The differences between two manifests. Hosts come first: they say where requests and keys may go.
 */
export function PreviewChanges({ preview }: { preview: PluginPreview }) {
  const { t, i18n } = useTranslation();
  const groups = listGroups(preview, { t, language: i18n.language }).filter(({ lines }) => lines.length > 0);
  return (
    <>
      <Section heading={t('plugins.preview.changes')}>
        {groups.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('plugins.preview.none')}
          </Text>
        ) : (
          groups.map((group) => <ChangeGroup key={group.heading} {...group} />)
        )}
      </Section>
      <AffectedRecords preview={preview} />
    </>
  );
}

/** True if both versions declare the same, and read the vendor's recent answers the same way. */
export const isUnchanged = (preview: PluginPreview, words: { t: TFunction; language: string }): boolean =>
  preview.permissions.gained.length + preview.permissions.lost.length === 0 &&
  listGroups(preview, words).every(({ lines }) => lines.length === 0) &&
  preview.replay.every(({ changed, lost_artifacts: lost }) => !changed && lost.length === 0);

/** Says in one card that nothing would change. */
export function NoChanges({ preview }: { preview: PluginPreview }) {
  const { t } = useTranslation();
  return (
    <>
      <Section heading={t('plugins.preview.heading')}>
        <Text size="sm">{t('plugins.preview.same')}</Text>
        <Text size="sm">
          {preview.replay.length === 0
            ? t('plugins.replay.empty')
            : t('plugins.replay.same', { count: preview.replay.length })}
        </Text>
        <Collapsible label={t('plugins.permissions')}>
          <PermissionList changes={preview.permissions} isNew />
        </Collapsible>
      </Section>
      <AffectedRecords preview={preview} />
    </>
  );
}

function ChangeGroup({ heading, lines }: Group) {
  const { t } = useTranslation();
  return (
    <div>
      <Title order={3} fz={15} mb={4}>
        {heading}
      </Title>
      <ul className={classes.changes}>
        {lines.map(({ kind, text, note }) => (
          <li key={`${kind} ${text}`}>
            <span className={classes.sign} data-kind={kind} role="img" aria-label={t(`plugins.change.${kind}`)}>
              {signs[kind]}
            </span>
            <span>
              <Code>{text}</Code> {note}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Channels that would serve less, and prices that would no longer match. */
function AffectedRecords({ preview: { channels, prices } }: { preview: PluginPreview }) {
  const { t } = useTranslation();
  const { orphaned, undeclared, unpriced } = prices;
  if (channels.length + orphaned.length + undeclared.length + unpriced.length === 0) return null;
  return (
    <Section heading={t('plugins.preview.affected')}>
      <Stack gap="sm" fz={14}>
        {channels.map(({ id, name, models }) => (
          <div key={id}>
            <Link to={`/channels/${id}`}>{name}</Link> {t('plugins.preview.channel', { models: models.join(', ') })}
          </div>
        ))}
        {orphaned.map(({ model, plugin_key: owner }) => (
          <div key={`orphaned ${owner} ${model}`}>{t('plugins.preview.orphaned', { model })}</div>
        ))}
        {undeclared.map(({ model, plugin_key: owner, facts }) => (
          <div key={`undeclared ${owner} ${model}`}>
            {t('plugins.preview.undeclared', { model, facts: facts.join(', ') })}
          </div>
        ))}
        {unpriced.length > 0 && (
          <div>
            {t('plugins.preview.unpriced', { models: unpriced.join(', ') })} <Link to="/prices">{t('nav.prices')}</Link>
          </div>
        )}
      </Stack>
    </Section>
  );
}

const toLines = ({
  added,
  removed,
}: {
  added: readonly (string | number)[];
  removed: readonly (string | number)[];
}): Line[] => [
  ...added.map((name) => ({ kind: 'added' as const, text: String(name) })),
  ...removed.map((name) => ({ kind: 'removed' as const, text: String(name) })),
];

function listGroups(preview: PluginPreview, words: { t: TFunction; language: string }): Group[] {
  const { t } = words;
  const {
    hosts,
    models,
    routes,
    protocols,
    channel_types: types,
    usage_schema: usage,
    narrowed_models: narrowed,
  } = preview;
  const nameRoute = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;
  const nameModels = (names: readonly string[] | null): string => (names === null ? t('app.all') : names.join(', '));
  const isNarrowed = JSON.stringify(narrowed.before) !== JSON.stringify(narrowed.after);
  return [
    { heading: t('plugins.hosts'), lines: toLines(hosts) },
    { heading: t('plugins.models'), lines: toLines(models) },
    {
      heading: t('plugins.preview.narrowed'),
      lines: isNarrowed
        ? [{ kind: 'changed', text: `${nameModels(narrowed.before)} → ${nameModels(narrowed.after)}` }]
        : [],
    },
    {
      heading: t('plugins.preview.routes'),
      lines: [
        ...toLines({ added: routes.added.map(nameRoute), removed: routes.removed.map(nameRoute) }),
        ...routes.changed.map(({ to }) => ({ kind: 'changed' as const, text: nameRoute(to) })),
      ],
    },
    {
      heading: t('plugins.preview.protocols'),
      lines: [
        ...toLines({
          added: protocols.added.map(({ name }) => protocolName(name)),
          removed: protocols.removed.map(({ name }) => protocolName(name)),
        }),
        ...protocols.changed.map(({ name, modes, models: changed }) => ({
          kind: 'changed' as const,
          text: protocolName(name),
          note: [...toLines(modes), ...toLines(changed)].map(({ kind, text }) => `${signs[kind]}${text}`).join(' '),
        })),
      ],
    },
    { heading: t('plugins.preview.channelTypes'), lines: toLines(types) },
    {
      heading: t('plugins.usage'),
      lines: [
        ...toLines(usage),
        ...usage.changed.map(({ name, from, to }) => ({
          kind: 'changed' as const,
          text: name,
          note: `${usageFieldLabel(from, words)} → ${usageFieldLabel(to, words)}`,
        })),
      ],
    },
  ];
}

type Replayed = PluginPreview['replay'][number];

/** The vendor's last answers parsed by both versions: shows which would be read differently. */
export function PreviewReplay({ preview: { replay } }: { preview: PluginPreview }) {
  const { t } = useTranslation();
  const differing = replay.filter(({ changed, lost_artifacts: lost }) => changed || lost.length > 0);
  const columns: readonly Column<Replayed>[] = [
    {
      key: 'task',
      heading: t('plugins.replay.task'),
      render: ({ task_id: id }) => <Link to={`/tasks/${encodeURIComponent(id)}`}>{id}</Link>,
    },
    {
      key: 'stored',
      heading: t('plugins.replay.stored'),
      render: ({ stored_status: status }) => <TaskStatus status={status} />,
    },
    { key: 'before', heading: t('plugins.replay.before'), render: ({ before }) => <ReplayResult result={before} /> },
    {
      key: 'after',
      heading: t('plugins.replay.after'),
      render: ({ after, lost_artifacts: lost }) => (
        <>
          <ReplayResult result={after} />
          {lost.length > 0 && (
            <Text size="sm" c="var(--mantine-color-error)">
              {t('plugins.replay.lost', { files: lost.join(', ') })}
            </Text>
          )}
        </>
      ),
    },
  ];
  return (
    <Section
      heading={t('plugins.replay.heading')}
      intro={
        replay.length === 0
          ? t('plugins.replay.empty')
          : t('plugins.replay.intro', { count: replay.length, changed: differing.length })
      }
    >
      {differing.length > 0 && (
        <PlainTable
          label={t('plugins.replay.heading')}
          columns={columns}
          rows={differing}
          rowKey={({ task_id: id }) => id}
        />
      )}
    </Section>
  );
}

function ReplayResult({ result }: { result: Replayed['before'] }) {
  if (result === null) return '–';
  if ('error' in result) {
    return (
      <Text size="sm" c="var(--mantine-color-error)">
        <RuleText said={{ ...result.error_sentence, message: result.error }} />
      </Text>
    );
  }
  return (
    <>
      <TaskStatus status={result.status} />
      {result.reason !== '' && (
        <Text size="xs" c="dimmed">
          <ServerText text={result.reason} />
        </Text>
      )}
    </>
  );
}
