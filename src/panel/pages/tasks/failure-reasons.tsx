import { Button, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FailureReason } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './tasks-page.module.css';
import type { TaskQuery } from './use-task-query.ts';

/** Reasons that are shown at first. */
const shown = 5;

/** Why the tasks of the filter failed; a choice shows those of one reason. */
export function FailureReasons({ tasks: { query, filters } }: { tasks: TaskQuery }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [isAll, setAll] = useState(false);
  // Counts all reasons, also while one of them is chosen.
  const { data } = useApiQuery<FailureReason[]>(
    withQuery('/api/task/failures', { ...query, status: null, fail_reason: null }),
  );
  if (data === undefined || data.length === 0) return null;
  const chosen = filters.values.reason;
  const visible = isAll ? data : data.slice(0, shown);
  return (
    <section className={classes.box} aria-label={t('tasks.reasons')}>
      <h2>{t('tasks.reasons')}</h2>
      <ul>
        {visible.map(({ reason, reason_sentence: sentence, count }) => (
          <li key={reason}>
            <UnstyledButton
              className={classes.reason}
              aria-pressed={chosen === reason && reason !== ''}
              disabled={reason === ''}
              onClick={() => filters.set('reason', chosen === reason ? '' : reason)}
            >
              <span className={classes.text}>
                {reason === '' ? t('task.fail.noReason') : <ServerText text={reason} sentence={sentence} />}
              </span>
              <span className={classes.count}>{format.number(count)}</span>
            </UnstyledButton>
          </li>
        ))}
      </ul>
      {data.length > shown && (
        <Button variant="subtle" size="xs" onClick={() => setAll(!isAll)}>
          {isAll ? t('task.timeline.less') : t('task.timeline.more', { count: data.length - shown })}
        </Button>
      )}
    </section>
  );
}
