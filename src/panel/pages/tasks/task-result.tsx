import { Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/types.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { ArtifactView } from './artifact-view.tsx';
import { isFinished } from './is-finished.ts';
import { useMissingPreview } from './previews/use-missing-preview.ts';
import { TaskLinks } from './task-links.tsx';

/** A task's files, or when to expect them. A failed task has none. */
export function TaskResult({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { bundle } = useSessionSnapshot();
  const isOwn = task.user_id === undefined || task.user_id === bundle?.user.id;
  const isMissing = task.artifacts.some(({ type, preview }) => type !== 'file' && preview === undefined);
  useMissingPreview(task.id, isOwn && task.status === 'SUCCESS' && isMissing);
  if (!isFinished(task)) return <Text c="dimmed">{t('task.resultPending')}</Text>;
  if (task.artifacts.length === 0) return <Text c="dimmed">{t('task.resultNone')}</Text>;
  const renew = () => queries.refetchQueries({ queryKey: ['api', `/api/task/${encodeURIComponent(task.id)}`] });
  return (
    <Stack gap="lg">
      {task.artifacts.map((artifact, index) => (
        <ArtifactView
          key={artifact.key}
          taskId={task.id}
          artifact={artifact}
          onRenew={renew}
          actions={index === task.artifacts.length - 1 && <TaskLinks taskId={task.id} />}
        />
      ))}
    </Stack>
  );
}
