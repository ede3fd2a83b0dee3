import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TaskSummary } from '../../../api/types.ts';
import { useSessionSnapshot } from '../../../session/session-context.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { useConfirm } from '../../../ui/form/confirm-dialog.tsx';
import classes from './bulk-bar.module.css';
import { BulkDialog } from './bulk-dialog.tsx';
import { type BulkAction, canDo } from './run-each.ts';
import { SkippedTasks } from './skipped-tasks.tsx';

const actions = ['again', 'cancel', 'delete', 'download'] as const;

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
      const sum = format.money(chosen.reduce((total, { quota }) => total + quota, 0));
      const isConfirmed = await confirm({
        title: t(`tasks.bulk.${action}.title`, { count: chosen.length, shown: count }),
        text: (
          <>
            {t(`tasks.bulk.${action}.text`, { sum })} <SkippedTasks count={skipped} />
          </>
        ),
        action: t(`tasks.bulk.${action}`),
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
          <Text size="sm" fw={550}>
            {t('tasks.bulk.chosen', { count: tasks.length, shown: format.number(tasks.length) })}
          </Text>
          {actions.map((action) => (
            <Button
              key={action}
              size="xs"
              variant="default"
              disabled={able(action).length === 0}
              onClick={() => void start(action)}
            >
              {t(`tasks.bulk.${action}`)}
            </Button>
          ))}
          <Button size="xs" variant="subtle" onClick={onClear}>
            {t('tasks.bulk.clear')}
          </Button>
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
