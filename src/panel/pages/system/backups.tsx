import { Anchor, Button, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BackupsReport } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { WithCode } from '../../ui/display/with-code.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useMutationWithProof } from '../../ui/security-proof/security-proof.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { systemParts } from './system-parts.tsx';

type Run = BackupsReport['runs'][number];

export const backupsPath = '/api/backup';
const tones = { done: 'good', failed: 'bad', running: 'waiting' } as const;

/** The schedule and the latest backups; makes one at once after a Security Proof. */
export function Backups() {
  const { t } = useTranslation();
  const report = useApiQuery<BackupsReport>(backupsPath, { refreshMs: 5000 });
  const begin = useMutationWithProof<void>({
    scope: 'settings.security',
    request: () => ({ method: 'POST', path: backupsPath }),
    invalidates: [backupsPath],
  });
  return (
    <Section
      anchor={systemParts.backups}
      heading={t('system.backups')}
      actions={
        <Button
          variant="default"
          loading={begin.isPending}
          disabled={!report.data || report.data.place === null}
          onClick={() => begin.mutate()}
        >
          {t('system.backupNow')}
        </Button>
      }
    >
      {begin.isError && <ErrorNotice error={begin.error} />}
      <QueryResult query={report}>{(data) => <Report report={data} />}</QueryResult>
    </Section>
  );
}

function Report({ report: { place, daily, hour, sealed, runs } }: { report: BackupsReport }) {
  const { t } = useTranslation();
  const isOff = place === null && !daily;
  const schedule = [
    place === null ? t('system.backupNoPlace') : t('system.backupPlace', { place }),
    daily ? t('system.backupDaily', { hour: `${String(hour).padStart(2, '0')}:00` }) : t('system.backupNotDaily'),
    ...(place !== null && !sealed ? [t('home.attention.backup_unsealed.remedy')] : []),
  ];
  const sentences = isOff ? [t('system.backupOff')] : schedule;
  return (
    <>
      <Text size="sm">
        <WithCode isMarked text={sentences.join(' ')} />{' '}
        <Anchor component={Link} to="/settings/backups" underline="always">
          {t('system.backupSettings')}
        </Anchor>
      </Text>
      {runs.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('system.backupNone')}
        </Text>
      ) : (
        <RunTable runs={runs} />
      )}
    </>
  );
}

function RunTable({ runs }: { runs: readonly Run[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const size = format.bytesLike(runs.flatMap(({ status, bytes }) => (status === 'done' ? [bytes] : [])));
  const columns: readonly Column<Run>[] = [
    { key: 'began', heading: t('system.backupBegan'), render: ({ started_at: at }) => format.ago(at) },
    {
      key: 'state',
      heading: t('system.backupState'),
      render: ({ status, message, reason, params, backup }) => (
        <div>
          <StatusLabel tone={tones[status]}>{t(`system.backupState.${status}`)}</StatusLabel>
          <Text size="xs" c="dimmed">
            {message === '' ? backup : <ServerText text={message} sentence={{ reason, params }} />}
          </Text>
        </div>
      ),
    },
    {
      key: 'trigger',
      heading: t('system.backupTrigger'),
      render: ({ trigger }) => t(`system.backupTrigger.${trigger}`),
    },
    {
      key: 'size',
      heading: t('system.backupSize'),
      numeric: true,
      render: ({ status, bytes }) => (status === 'done' ? size(bytes) : ''),
    },
  ];
  return <PlainTable label={t('system.backups')} columns={columns} rows={runs} rowKey={({ id }) => id} />;
}
