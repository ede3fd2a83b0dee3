import { Button, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskNotice } from '../../api/types.ts';
import { useApi, useChange } from '../../api/use-api.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { PagedRows } from '../../ui/display/data-table.tsx';
import { Fold } from '../../ui/display/collapsible.tsx';
import { JsonView } from '../../ui/display/json-view.tsx';
import { StatusMark, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { notifyDone } from '../../ui/display/notify.ts';
import { Section } from '../../ui/page/section.tsx';
import classes from './task-webhooks.module.css';

const statuses: Readonly<Record<string, { text: TextKey; tone: Tone }>> = {
  pending: { text: 'task.webhooks.status.pending', tone: 'waiting' },
  delivered: { text: 'task.webhooks.status.delivered', tone: 'good' },
  failed: { text: 'task.webhooks.status.failed', tone: 'bad' },
  superseded: { text: 'task.webhooks.status.superseded', tone: 'quiet' },
};

const refreshMs = 5000;

/** The notices of a task with what came of each; nothing where the request named no receiver. */
export function TaskWebhooks({ taskId, isRunning }: { taskId: string; isRunning: boolean }) {
  const { t } = useTranslation();
  const path = `/api/task/${encodeURIComponent(taskId)}/webhooks`;
  const notices = useApi<PagedRows<TaskNotice>>(`${path}?page_size=50`, {
    refreshMs: (data) =>
      isRunning || data?.items.some(({ status }) => status === 'pending') === true ? refreshMs : false,
  });
  if (notices.data === undefined || notices.data.total === 0) return null;
  return (
    <Section heading={t('task.webhooks')} intro={t('task.webhooks.intro')}>
      <ul className={classes.notices}>
        {notices.data.items.map((notice) => (
          <Notice key={notice.id} notice={notice} path={path} />
        ))}
      </ul>
    </Section>
  );
}

function Notice({ notice, path }: { notice: TaskNotice; path: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const redeliver = useChange({
    request: () => ({ method: 'POST', path: `${path}/${encodeURIComponent(notice.id)}/redeliver` }),
    stale: [path],
    onSuccess: () => notifyDone(t('task.webhooks.redelivered')),
  });
  const state = statuses[notice.status] ?? { text: 'task.webhooks.status.pending', tone: 'quiet' };
  return (
    <li className={classes.notice}>
      <Group justify="space-between" gap="sm" align="flex-start">
        <Stack gap={4} className={classes.words}>
          <Group gap="sm">
            <StatusMark tone={state.tone}>{t(state.text)}</StatusMark>
            <code className={classes.event}>{notice.event}</code>
          </Group>
          <Text size="sm" c="dimmed" className={classes.address}>
            {notice.url}
          </Text>
          {notice.next_attempt_at !== null && (
            <Text size="sm" c="dimmed">
              {t('task.webhooks.next', { ago: format.ago(notice.next_attempt_at) })}
            </Text>
          )}
        </Stack>
        <Button
          size="compact-sm"
          variant="default"
          loading={redeliver.isPending}
          aria-label={`${t('task.webhooks.redeliver')}: ${notice.event}`}
          onClick={() => redeliver.mutate(undefined)}
        >
          {t('task.webhooks.redeliver')}
        </Button>
      </Group>
      {redeliver.isError && <FailureNotice error={redeliver.error} />}
      <Fold label={t('task.webhooks.attempts')} note={format.number(notice.attempts)}>
        {notice.deliveries.length === 0 ? (
          <Text size="sm">{t('task.webhooks.noAttempt')}</Text>
        ) : (
          <ul className={classes.attempts}>
            {notice.deliveries.map(({ at, http_status, duration_ms, error }) => (
              <li key={`${at} ${duration_ms} ${http_status}`}>
                {error
                  ? t('task.webhooks.attemptFailed', { time: format.time(at), error, ms: duration_ms })
                  : t('task.webhooks.attempt', { time: format.time(at), status: http_status ?? 0, ms: duration_ms })}
              </li>
            ))}
          </ul>
        )}
      </Fold>
      <Fold label={t('task.webhooks.payload')}>
        <JsonView value={notice.payload} label={t('task.webhooks.payload')} />
      </Fold>
    </li>
  );
}
