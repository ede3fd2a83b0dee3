import { Anchor, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskDetail } from '../../../api/types.ts';
import { useApiQuery } from '../../../session/use-api.ts';
import { VendorWords } from '../../../ui/display/server-text.tsx';
import { TaskStatus } from '../../../ui/display/status-label.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { Section } from '../../../ui/page/section.tsx';
import { artifactPath, compareBodies, readTaskBody, sentAt, tookSeconds } from '../read-task.ts';
import { taskPath } from '../use-task-columns.tsx';
import classes from './task-page.module.css';

/** Compares the task with the one that it repeats: request, outcome, cost and time. */
export function TaskComparison({ task, repeats }: { task: TaskDetail; repeats: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const former = useApiQuery<TaskDetail>(`/api/task/${encodeURIComponent(repeats)}`, { keepPrevious: false });
  // It may be deleted.
  if (former.data === undefined) return null;
  const [before, after] = [readTaskBody(former.data), readTaskBody(task)];
  const differences = before !== null && after !== null ? compareBodies(before, after) : null;
  const both = (show: (each: TaskDetail) => ReactNode): [ReactNode, ReactNode] => [show(former.data), show(task)];
  const took = (each: TaskDetail): string => {
    const seconds = tookSeconds(each);
    return seconds === null ? '–' : format.duration(seconds);
  };
  const rows: readonly (readonly [string, ReactNode, ReactNode])[] = [
    [t('task.result'), ...both((each) => <Outcome task={each} />)],
    [t('tasks.column.cost'), ...both(({ quota }) => format.money(quota))],
    [t('tasks.column.took'), ...both(took)],
    [t('tasks.column.when'), ...both((each) => format.time(sentAt(each)))],
    ...(task.model === former.data.model ? [] : [[t('tasks.model'), ...both(({ model }) => model)] as const]),
    ...(differences ?? []).map(({ path, before: was, after: is }) => [path, was, is] as const),
  ];
  return (
    <Section heading={t('task.compare')}>
      <Table.ScrollContainer minWidth={420}>
        <Table className={classes.table ?? ''} verticalSpacing={8}>
          <Table.Thead>
            <Table.Tr>
              <Table.Td />
              <Table.Th scope="col">
                <Anchor component={Link} to={taskPath(former.data)} inherit>
                  {t('task.compare.before')}
                </Anchor>
              </Table.Th>
              <Table.Th scope="col">{t('task.compare.now')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(([label, was, is]) => (
              <Table.Tr key={label}>
                <Table.Th scope="row">{label}</Table.Th>
                <Table.Td>{was}</Table.Td>
                <Table.Td>{is}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {differences?.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('task.compare.sameInput')}
        </Text>
      )}
    </Section>
  );
}

function Outcome({ task }: { task: TaskDetail }) {
  const [artifact] = task.artifacts;
  const picture = artifact?.preview?.url ?? (artifact?.type === 'image' ? artifact.content_url : undefined);
  return (
    <div className={classes.outcome}>
      {picture !== undefined && <img src={artifactPath(picture)} alt="" loading="lazy" />}
      <TaskStatus status={task.status} isWaiting={task.queue !== undefined} />
      {task.fail_reason !== '' && (
        <Text size="sm">
          <VendorWords text={task.fail_reason} sentence={task.fail_reason_sentence} />
        </Text>
      )}
    </div>
  );
}
