import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { PluginPreview } from '../../api/types.ts';
import { type Column, PlainTable } from '../../ui/display/data-table.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { TaskStatus } from '../../ui/display/status-label.tsx';
import { Section } from '../../ui/page/section.tsx';

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
        <ServerText text={result.error} />
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
