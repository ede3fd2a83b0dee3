import { IconPhoto } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import type { TaskSummary } from '../../api/types.ts';
import { useMissingPreview } from './previews/use-missing-preview.ts';
import { artifactPath } from './read-task.ts';
import classes from './task-poster.module.css';

type TaskPosterProps = {
  task: TaskSummary;
  /** As wide as its place. */
  large?: boolean;
};

/**
 * A small picture of a task's result; an empty place where there is no result. Decorative: the task
 * is named beside it.
 */
export function TaskPoster({ task, large = false }: TaskPosterProps) {
  const [box, isSeen] = useSeen();
  useMissingPreview(task.id, isSeen && task.status === 'SUCCESS' && task.poster === undefined);
  const hasResult = task.status === 'SUCCESS' || task.poster !== undefined;
  return (
    <span
      ref={box}
      className={classes.poster}
      data-large={large || undefined}
      data-empty={!hasResult || undefined}
      aria-hidden="true"
    >
      {task.poster === undefined ? (
        hasResult && <IconPhoto size={large ? 24 : 18} stroke={1.4} />
      ) : (
        <img src={artifactPath(task.poster.url)} width={64} height={40} loading="lazy" decoding="async" alt="" />
      )}
    </span>
  );
}

/** Whether the element has been on the screen. */
function useSeen() {
  const ref = useRef<HTMLSpanElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (isSeen || ref.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return [ref, isSeen] as const;
}
