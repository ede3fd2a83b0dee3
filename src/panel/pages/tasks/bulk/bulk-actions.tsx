import { ActionIcon, Button, CloseButton, Group, Menu, Modal, Progress, Stack, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconDots } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { errorMessage } from '../../../api/error-message.ts';
import type { TaskSummary } from '../../../api/types.ts';
import { useSession, useSessionSnapshot } from '../../../session/session-context.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { useConfirm } from '../../../ui/form/confirm-dialog.tsx';
import { artifactPath, isFinished } from '../read-task.ts';
import { taskPath, useTaskTitle } from '../use-task-columns.tsx';
import classes from './bulk-actions.module.css';
import { type BulkAction, type BulkFile, type BulkProgress, canDo, runEach } from './run-each.ts';

const actions = ['again', 'download', 'cancel', 'delete'] as const;

type BulkBarProps = { tasks: readonly TaskSummary[]; onClear(): void };

/** What can be done with the chosen tasks. Each is asked for by itself. */
export function BulkBar({ tasks, onClear }: BulkBarProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const { bundle } = useSessionSnapshot();
  const [run, setRun] = useState<{ action: BulkAction; tasks: readonly TaskSummary[]; skipped: number } | null>(null);
  const able = (action: BulkAction) => tasks.filter((task) => canDo(action, task, bundle?.user.id));
  const start = async (action: BulkAction): Promise<void> => {
    const chosen = able(action);
    const count = format.number(chosen.length);
    const skipped = tasks.length - chosen.length;
    if (action !== 'download') {
      const sum = format.money(chosen.reduce((total, { reserved }) => total + reserved, 0));
      const others = tasks.filter((task) => !chosen.includes(task));
      const leavesRunning = action === 'again' && others.length > 0 && !others.some(isFinished);
      const foreign = chosen.filter(({ user_id: id }) => id !== undefined && id !== bundle?.user.id).length;
      const isConfirmed = await confirm({
        title: t(`tasks.bulk.${action}.title`, { count: chosen.length, shown: count }),
        text: (
          <>
            {t(`tasks.bulk.${action}.text`, { sum })}{' '}
            {action === 'delete' &&
              foreign > 0 &&
              `${t('tasks.bulk.delete.others', { count: foreign, shown: format.number(foreign) })} `}
            {leavesRunning ? (
              t('tasks.bulk.again.running', { count: skipped, shown: format.number(skipped) })
            ) : (
              <SkippedTasks count={skipped} />
            )}
          </>
        ),
        action: t(`tasks.bulk.${action}.action`, { count: chosen.length, shown: count, sum }),
        destructive: action !== 'again',
      });
      if (!isConfirmed) return;
    }
    setRun({ action, tasks: chosen, skipped });
  };
  return (
    <>
      {tasks.length > 0 && (
        <div className={classes.bar} role="toolbar" aria-label={t('tasks.bulk')}>
          <CloseButton aria-label={t('tasks.bulk.clear')} onClick={onClear} />
          <Text size="sm" fw={550} className={classes.count ?? ''}>
            {t('tasks.bulk.chosen', { count: tasks.length, shown: format.number(tasks.length) })}
          </Text>
          <BulkButtons
            offers={actions.flatMap((action) => {
              const count = able(action).length;
              const label = `${t(`tasks.bulk.${action}`)} (${format.number(count)})`;
              return count > 0 ? [{ action, label }] : [];
            })}
            onStart={(action) => void start(action)}
          />
        </div>
      )}
      {run !== null && (
        <BulkDialog
          {...run}
          onClose={() => {
            setRun(null);
            onClear();
          }}
        />
      )}
    </>
  );
}

type BulkButtonsProps = {
  offers: readonly { action: BulkAction; label: string }[];
  onStart(action: BulkAction): void;
};

/** The actions side by side; on a phone the first one, and the others in a menu: one row. */
function BulkButtons({ offers, onStart }: BulkButtonsProps) {
  const { t } = useTranslation();
  const isPhone = useMediaQuery('(max-width: 639px)', undefined, { getInitialValueInEffect: false }) === true;
  const others = isPhone ? offers.slice(1) : [];
  return (
    <>
      {offers.slice(0, offers.length - others.length).map(({ action, label }) => (
        <Button
          key={action}
          className={classes.action ?? ''}
          size="xs"
          variant="default"
          onClick={() => onStart(action)}
        >
          {label}
        </Button>
      ))}
      {others.length > 0 && (
        <Menu position="top-end">
          <Menu.Target>
            <ActionIcon variant="default" size={44} aria-label={t('app.more')}>
              <IconDots size={18} stroke={1.6} aria-hidden="true" />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {others.map(({ action, label }) => (
              <Menu.Item key={action} onClick={() => onStart(action)}>
                {label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </>
  );
}

type BulkDialogProps = {
  action: BulkAction;
  tasks: readonly TaskSummary[];
  /** How many more were chosen. */
  skipped: number;
  onClose(): void;
};

/** How far an action has come, a way to stop it, and at the end what failed. */
function BulkDialog({ action, tasks, skipped, onClose }: BulkDialogProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const toTitle = useTaskTitle();
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
                <Link to={taskPath(task)}>{toTitle(task).slice(0, 80)}</Link>
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

/** How many of the chosen tasks an action leaves out; nothing if it is possible for all. */
function SkippedTasks({ count }: { count: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  return count > 0 && t('tasks.bulk.skipped', { count, shown: format.number(count) });
}
