import { Anchor, CloseButton, Group } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { TaskFailure } from '../tasks/task-failure.tsx';
import { TaskHeadline } from '../tasks/task-headline.tsx';
import { TaskResult } from '../tasks/task-result.tsx';
import { useTask } from '../tasks/use-task.ts';

type RunningTaskProps = { id: string; isOneOfMany: boolean; onClose(): void };

/** The submitted task: its progress, then its result. */
export function RunningTask({ id, isOneOfMany, onClose }: RunningTaskProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const task = useTask(id, { isOneOfMany });
  const container = useRef<HTMLDivElement>(null);
  const isLoaded = task.data !== undefined;
  useEffect(() => {
    if (isLoaded) container.current?.scrollIntoView({ block: 'nearest' });
  }, [isLoaded]);
  return (
    <div ref={container}>
      <Section
        heading={isOneOfMany ? (task.data?.model ?? t('play.task')) : t('play.task')}
        actions={<CloseButton aria-label={t('play.task.close')} onClick={onClose} />}
      >
        <QueryResult query={task}>
          {(data) => (
            <>
              <TaskHeadline task={data} />
              {data.status === 'FAILURE' ? <TaskFailure task={data} /> : <TaskResult task={data} />}
              <Group justify="space-between" gap="sm">
                <Anchor component={Link} to={`/tasks/${encodeURIComponent(data.id)}`} size="sm">
                  {t('play.task.open')}
                </Anchor>
                {data.bill.settled !== null && <span>{format.money(data.bill.settled)}</span>}
              </Group>
            </>
          )}
        </QueryResult>
      </Section>
    </div>
  );
}
