import { Button, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskWebhook } from '../../../api/types.ts';
import type { TextKey } from '../../../i18n/texts.ts';
import { useApiMutation, useApiQuery } from '../../../session/use-api.ts';
import { Collapsible } from '../../../ui/display/collapsible.tsx';
import { ErrorNotice } from '../../../ui/display/error-notice.tsx';
import { JsonView } from '../../../ui/display/json-view.tsx';
import { notifySuccess } from '../../../ui/display/notify.ts';
import { StatusLabel, type Tone } from '../../../ui/display/status-label.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { Section } from '../../../ui/page/section.tsx';
import type { PagedRows } from '../../../ui/table/data-table.tsx';
import { attemptError } from '../read-task.ts';
import classes from './task-page.module.css';

const statuses: Readonly<Record<string, { text: TextKey; tone: Tone }>> = {
  pending: { text: 'task.webhooks.status.pending', tone: 'waiting' },
  delivered: { text: 'task.webhooks.status.delivered', tone: 'good' },
  failed: { text: 'task.webhooks.status.failed', tone: 'bad' },
  superseded: { text: 'task.webhooks.status.superseded', tone: 'quiet' },
};

const refreshMs = 5000;

/**
 * The webhooks of a task and their deliveries; renders nothing if the request named no receiver.
 */
export function TaskWebhooks({ taskId, isRunning }: { taskId: string; isRunning: boolean }) {
  const { t } = useTranslation();
  const path = `/api/task/${encodeURIComponent(taskId)}/webhooks`;
  const webhooks = useApiQuery<PagedRows<TaskWebhook>>(`${path}?page_size=50`, {
    refreshMs: (data) =>
      isRunning || data?.items.some(({ status }) => status === 'pending') === true ? refreshMs : false,
  });
  if (webhooks.data === undefined || webhooks.data.total === 0) return null;
  return (
    <Section heading={t('task.webhooks')} intro={t('task.webhooks.intro')}>
      <ul className={classes.notices}>
        {webhooks.data.items.map((webhook) => (
          <WebhookItem key={webhook.id} webhook={webhook} path={path} />
        ))}
      </ul>
    </Section>
  );
}

function WebhookItem({ webhook, path }: { webhook: TaskWebhook; path: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const redeliver = useApiMutation({
    request: () => ({ method: 'POST', path: `${path}/${encodeURIComponent(webhook.id)}/redeliver` }),
    invalidates: [path],
    onSuccess: () => notifySuccess(t('task.webhooks.redelivered')),
  });
  const state = statuses[webhook.status] ?? { text: 'task.webhooks.status.pending', tone: 'quiet' };
  return (
    <li className={classes.notice}>
      <Group justify="space-between" gap="sm" align="flex-start">
        <Stack gap={4} className={classes.words}>
          <Group gap="sm">
            <StatusLabel tone={state.tone}>{t(state.text)}</StatusLabel>
            <code className={classes.event}>{webhook.event}</code>
          </Group>
          <Text size="sm" c="dimmed" className={classes.address}>
            {webhook.url}
          </Text>
          {webhook.next_attempt_at !== null && (
            <Text size="sm" c="dimmed">
              {t('task.webhooks.next', { ago: format.ago(webhook.next_attempt_at) })}
            </Text>
          )}
        </Stack>
        <Button
          size="xs"
          variant="default"
          loading={redeliver.isPending}
          aria-label={`${t('task.webhooks.redeliver')}: ${webhook.event}`}
          onClick={() => redeliver.mutate(undefined)}
        >
          {t('task.webhooks.redeliver')}
        </Button>
      </Group>
      {redeliver.isError && <ErrorNotice error={redeliver.error} />}
      <Collapsible label={t('task.webhooks.attempts')} note={format.number(webhook.attempts)}>
        {webhook.deliveries.length === 0 ? (
          <Text size="sm">{t('task.webhooks.noAttempt')}</Text>
        ) : (
          <ul className={classes.attempts}>
            {webhook.deliveries.map(({ at, http_status, duration_ms, error }) => (
              <li key={`${at} ${duration_ms} ${http_status}`}>
                {error
                  ? t('task.webhooks.attemptFailed', {
                      time: format.time(at),
                      error: attemptError(error, t),
                      ms: duration_ms,
                    })
                  : t('task.webhooks.attempt', { time: format.time(at), status: http_status ?? 0, ms: duration_ms })}
              </li>
            ))}
          </ul>
        )}
      </Collapsible>
      <Collapsible label={t('task.webhooks.payload')}>
        <JsonView value={webhook.payload} label={t('task.webhooks.payload')} />
      </Collapsible>
    </li>
  );
}
