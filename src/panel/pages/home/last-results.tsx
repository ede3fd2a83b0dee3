import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskPage } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { TaskPoster } from '../tasks/task-poster.tsx';
import classes from './home.module.css';

const shown = 6;

/** The latest results, as pictures that lead to their tasks. */
export function LastResults({ all, refreshMs }: { all: boolean; refreshMs: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  const path = withQuery('/api/task', { scope: all ? 'all' : null, status: 'SUCCESS', page_size: shown });
  const { data } = useApiQuery<TaskPage>(path, { refreshMs });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Section
      heading={t('home.results')}
      actions={
        <Anchor component={Link} to={withQuery('/tasks', { scope: all ? 'all' : null, status: 'SUCCESS' })} size="sm">
          {t('home.results.all')}
        </Anchor>
      }
    >
      <ul className={classes.results}>
        {data.items.map((task) => (
          <li key={task.id}>
            <Link to={`/tasks/${encodeURIComponent(task.id)}`} className={classes.result}>
              <TaskPoster task={task} large />
              <span className={classes.prompt}>{task.input || t('tasks.withoutInput', { model: task.model })}</span>
            </Link>
            <span className={classes.when}>{format.ago(task.finish_time)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
