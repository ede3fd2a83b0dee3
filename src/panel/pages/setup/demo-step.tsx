import { Anchor, Button, Stack, Text } from '@mantine/core';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { createIdempotencyKey, isOutcomeKnown } from '../../api/idempotency-key.ts';
import type { DemoChannel, TaskDetail } from '../../api/types.ts';
import { useSingleMutation } from '../../api/use-api.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { FirstTask } from './first-task.tsx';

/**
 * Optional step after the account is created: a channel with the built-in vendor, and a first video
 * through it.
 */
export function DemoStep({ username }: { username: string }) {
  const { t } = useTranslation();
  const session = useSession();
  // Repeating after a lost answer buys nothing; after an answer it is a new request.
  const key = useRef(createIdempotencyKey());
  const begin = useSingleMutation({
    mutationFn: async () => {
      const { channel } = await session.send<DemoChannel>({ method: 'POST', path: '/api/setup/demo-channel' });
      const body = {
        plugin_key: channel.task_plugin_key,
        body: { model: channel.models[0], prompt: t('setup.try.prompt') },
      };
      const headers = { 'idempotency-key': key.current };
      const task = await session.send<TaskDetail>({ method: 'POST', path: '/api/task', headers, body });
      key.current = createIdempotencyKey();
      return { channel: channel.name, taskId: task.id };
    },
    onError: (error: Error) => {
      if (isOutcomeKnown(error)) key.current = createIdempotencyKey();
    },
  });
  if (begin.isSuccess) return <FirstTask {...begin.data} onAgain={() => begin.mutate()} />;
  return (
    <Stack gap={28}>
      <PageHeading
        title={t('setup.title')}
        heading={t('setup.done.heading')}
        intro={t('setup.done.text', { username })}
        focus
      />
      {begin.isError && (
        <ErrorNotice error={begin.error} codeTexts={{ CHANNEL_DEMO_UNAVAILABLE: 'setup.try.unavailable' }} />
      )}
      <Text lh={1.6}>{t('setup.try.text')}</Text>
      <Button size="md" loading={begin.isPending} onClick={() => begin.mutate()}>
        {t('setup.try.begin')}
      </Button>
      <Anchor component={Link} to="/" replace size="sm" underline="always" style={{ alignSelf: 'flex-start' }}>
        {t('setup.try.skip')}
      </Anchor>
    </Stack>
  );
}
