import { Button, Group, Modal, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { errorMessage } from '../../../api/error-message.ts';
import type { TaskSummary } from '../../../api/types.ts';
import { useSession } from '../../../session/session-context.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { artifactPath } from '../artifact-path.ts';
import { taskPath, useTaskTitle } from '../use-task-columns.tsx';
import classes from './bulk-bar.module.css';
import { type BulkAction, type BulkFile, type BulkProgress, runEach } from './run-each.ts';
import { SkippedTasks } from './skipped-tasks.tsx';

type BulkDialogProps = {
  action: BulkAction;
  tasks: readonly TaskSummary[];
  /** How many more were chosen. */
  skipped: number;
  onClose(): void;
};

/** How far an action has come, a way to stop it, and at the end what failed. */
export function BulkDialog({ action, tasks, skipped, onClose }: BulkDialogProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const titleOf = useTaskTitle();
  const { progress, isRunning, stop, start } = useBulkRun(action);
  const first = useRef(tasks);
  useEffect(() => start(first.current), [start]);
  const { total, done, failures } = progress;
  const count = { done: format.number(done), total: format.number(total) };
  return (
    <Modal
      opened
      onClose={isRunning ? stop : onClose}
      title={t(`tasks.bulk.${action}`)}
      centered
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': isRunning ? t('tasks.bulk.stop') : t('app.close') }}
    >
      <Stack gap="md">
        <Progress value={total === 0 ? 100 : (done / total) * 100} aria-label={t('task.progress')} />
        <Text size="sm" role="status">
          {isRunning
            ? t('tasks.bulk.progress', count)
            : t(failures.length === 0 ? 'tasks.bulk.done' : 'tasks.bulk.doneWithFailures', {
                ...count,
                failed: format.number(failures.length),
              })}{' '}
          {!isRunning && <SkippedTasks count={skipped} />}
        </Text>
        {failures.length > 0 && (
          <ul className={classes.failures}>
            {failures.map(({ task, error }) => (
              <li key={task.id}>
                <Link to={taskPath(task)}>{titleOf(task).slice(0, 80)}</Link>
                <br />
                {errorMessage(error, t, i18n.language)}
              </li>
            ))}
          </ul>
        )}
        <Group justify="flex-end" gap="sm">
          {isRunning ? (
            <Button variant="default" onClick={stop}>
              {t('tasks.bulk.stop')}
            </Button>
          ) : (
            <>
              {failures.length > 0 && (
                <Button variant="default" onClick={() => start(failures.map(({ task }) => task))}>
                  {t('tasks.bulk.retryFailed')}
                </Button>
              )}
              <Button onClick={onClose}>{t('app.close')}</Button>
            </>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

function useBulkRun(action: BulkAction) {
  const session = useSession();
  const queries = useQueryClient();
  const [progress, setProgress] = useState<BulkProgress>({ total: 0, done: 0, failures: [] });
  const [isRunning, setRunning] = useState(true);
  const abort = useRef<AbortController>(null);
  const keys = useRef(new Map<string, string>());
  const start = useCallback(
    (tasks: readonly TaskSummary[]) => {
      const controller = new AbortController();
      abort.current = controller;
      setRunning(true);
      const { signal } = controller;
      void runEach({ session, action, tasks, signal, keys: keys.current, onProgress: setProgress, save }).then(() => {
        // A dialog that was left started no other run.
        if (abort.current === controller) setRunning(false);
        void queries.invalidateQueries({
          predicate: ({ queryKey: [kind, path] }) =>
            kind === 'api' && /^\/api\/(task|user\/self|stats)\b/.test(String(path)),
        });
      });
      return () => controller.abort();
    },
    [session, queries, action],
  );
  return { progress, isRunning, start, stop: () => abort.current?.abort() };
}

/** Browsers lose downloads that follow each other at once. */
const pauseMs = 400;

async function save(task: TaskSummary, { key, url }: BulkFile): Promise<void> {
  const link = document.createElement('a');
  link.href = artifactPath(url);
  link.download = `${task.id}-${key}`;
  document.body.append(link);
  link.click();
  link.remove();
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}
