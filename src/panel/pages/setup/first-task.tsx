import { Anchor, Button, Code, Stack, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { createIdempotencyKey, isOutcomeKnown } from '../../api/idempotency-key.ts';
import type { DemoChannel, TaskDetail } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useSingleMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { artifactPath, isFinished } from '../tasks/read-task.ts';
import { TaskFailure, TaskProgress } from '../tasks/task/task-headline.tsx';
import { useTask } from '../tasks/task/use-task.ts';
import classes from './first-task.module.css';

type FirstTaskProps = { channel: string; taskId: string; onAgain(): void };

/** The first task, step by step, and its video. */
function FirstTask({ channel, taskId, onAgain }: FirstTaskProps) {
  const { t } = useTranslation();
  const task = useTask(taskId);
  const status = task.data?.status ?? '';
  const isDone = status === 'SUCCESS';
  return (
    <Stack gap={28}>
      <PageHeading
        key={isDone ? 'done' : 'running'}
        title={t('setup.title')}
        heading={t(isDone ? 'setup.try.done.heading' : 'setup.try.heading')}
        intro={t(isDone ? 'setup.try.done.text' : 'setup.try.intro')}
        focus
      />
      <ol className={classes.steps}>
        <Step isDone>{t('setup.try.channel', { channel })}</Step>
        <Step isDone>
          {t('setup.try.sent')} <Code className={classes.id}>{taskId}</Code>
        </Step>
        <Step isDone={isDone}>{t(isDone ? 'setup.try.video' : 'setup.try.running')}</Step>
      </ol>
      <QueryResult query={task}>
        {(data) => (
          <>
            {!isFinished(data) && <TaskProgress task={data} wide />}
            {data.status === 'FAILURE' && <TaskFailure task={data} />}
            {isDone && <Video task={data} />}
          </>
        )}
      </QueryResult>
      {status === 'FAILURE' && (
        <Button variant="default" size="md" onClick={onAgain}>
          {t('app.retry')}
        </Button>
      )}
      {isDone && (
        <>
          <Button component={Link} to="/" replace size="md">
            {t('setup.try.home')}
          </Button>
          <Text size="sm" c="dimmed" lh={1.55}>
            {t('setup.try.later')}
          </Text>
        </>
      )}
      {!isDone && (
        <Anchor component={Link} to="/" replace size="sm" underline="always" style={{ alignSelf: 'flex-start' }}>
          {t('setup.try.skip')}
        </Anchor>
      )}
    </Stack>
  );
}

function Step({ isDone, children }: { isDone: boolean; children: ReactNode }) {
  return (
    <li className={classes.step} data-done={isDone || undefined}>
      <span className={classes.mark} aria-hidden="true">
        {isDone && <IconCheck size={20} stroke={1.6} aria-hidden="true" />}
      </span>
      <span>{children}</span>
    </li>
  );
}

function Video({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const video = task.artifacts.find(({ type }) => type === 'video');
  if (video === undefined) return <Text c="dimmed">{t('task.resultNone')}</Text>;
  return (
    <video
      className={classes.video}
      src={artifactPath(video.content_url)}
      aria-label={t('setup.try.video')}
      controls
      autoPlay
      muted
      loop
      playsInline
    />
  );
}

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
