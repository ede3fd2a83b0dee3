import { Button, Group, Text } from '@mantine/core';
import { IconCheck, IconSend } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { TaskPage } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { RunningTask } from '../playground/sent-tasks.tsx';
import type { Sample } from './choose-sample.ts';

const waitMs = 3000;

type FirstRequestProps = {
  keyId: number;
  apiKey: string;
  /** The request that the page shows; null: the key can call no model yet. */
  sample: Sample | null;
};

/**
 * Sends the shown request with the new key, and waits for the key's first task, from here or from
 * anywhere else.
 */
export function FirstRequest({ keyId, apiKey, sample }: FirstRequestProps) {
  const { t } = useTranslation();
  const path = withQuery('/api/task', { api_key_id: keyId, page_size: 1 });
  const tasks = useApiQuery<TaskPage>(path, { refreshMs: (page) => (page?.items.length ? false : waitMs) });
  const send = useMutation({
    mutationFn: async ({ path, body }: Sample) => {
      const answer = await fetch(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (answer.ok) return;
      const { error } = (await answer.json().catch(() => ({}))) as { error?: { message?: string } };
      throw new Error(error?.message ?? `HTTP ${answer.status}`);
    },
    onSettled: () => tasks.refetch(),
  });
  const first = tasks.data?.items[0];
  if (first !== undefined) {
    return (
      <div role="status">
        <Group gap={8} mb="md">
          <IconCheck size={18} stroke={1.8} aria-hidden="true" color="var(--mantine-primary-color-filled)" />
          <Text fw={600}>{t('keys.first.received')}</Text>
        </Group>
        <RunningTask id={first.id} isOneOfMany={false} />
      </div>
    );
  }
  return (
    <>
      {send.isError && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {t('error.unknown', { message: t('error.quoted', { text: send.error.message }) })}
        </Text>
      )}
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<IconSend size={17} stroke={1.6} aria-hidden="true" />}
          disabled={sample === null}
          loading={send.isPending}
          onClick={() => sample !== null && send.mutate(sample)}
        >
          {t('keys.first.send')}
        </Button>
        <Text size="sm" c="dimmed">
          {t('keys.first.waiting')}
        </Text>
      </Group>
    </>
  );
}
