import { Portal } from '@mantine/core';
import { IconAlertCircle, IconHourglass, IconPhotoVideo } from '@tabler/icons-react';
import { useState } from 'react';
import type { TaskSummary } from '../../api/types.ts';
import { useSeen } from '../../ui/display/use-seen.ts';
import './previews/drawing.css';
import { useMissingPreview } from './previews/use-missing-preview.ts';
import { artifactPath } from './read-task.ts';
import classes from './task-poster.module.css';

type TaskPosterProps = {
  task: Pick<TaskSummary, 'id' | 'model' | 'status' | 'poster'>;
  /** In a row of a table, in two lines on a phone, or as wide as its place. */
  size: 'row' | 'brief' | 'tile';
};

/** Pixels: as wide as previews are kept, at most. */
const enlarged = { width: 320, height: 200, gap: 10 };

/**
 * A small picture of a task's result, larger beside itself while the pointer is over it; a sign of
 * its state where there is no result. Decorative: the task and its state are named beside it.
 */
export function TaskPoster({ task, size }: TaskPosterProps) {
  const [box, isSeen] = useSeen<HTMLSpanElement>();
  const [place, setPlace] = useState<{ left: number; top: number } | null>(null);
  const isMissing = task.status === 'SUCCESS' && task.poster === undefined;
  const isTried = !useMissingPreview(task.id, isSeen && isMissing);
  const isDrawing = isMissing && !(isSeen && isTried);
  const [isBroken, setBroken] = useState(false);
  const path = task.poster && !isBroken ? artifactPath(task.poster.url) : undefined;
  const isTile = size === 'tile';
  return (
    <span
      ref={box}
      className={classes.poster}
      data-size={size}
      data-without-picture={!hasPicture(task) || undefined}
      data-failed={(!hasPicture(task) && task.status === 'FAILURE') || undefined}
      data-drawing={isDrawing || undefined}
      aria-hidden="true"
      onPointerEnter={({ currentTarget, pointerType }) => {
        if (path !== undefined && !isTile && pointerType === 'mouse') setPlace(placeBeside(currentTarget));
      }}
      onPointerLeave={() => setPlace(null)}
    >
      {path === undefined ? (
        <>
          <PosterIcon task={task} size={isTile ? 22 : 17} />
          {isTile && <span className={classes.model}>{task.model}</span>}
        </>
      ) : (
        <img src={path} width={64} height={40} loading="lazy" decoding="async" alt="" onError={() => setBroken(true)} />
      )}
      {place !== null && (
        <Portal>
          <img className={classes.enlarged} style={place} src={path} alt="" />
        </Portal>
      )}
    </span>
  );
}

function PosterIcon({ task, size }: Pick<TaskPosterProps, 'task'> & { size: number }) {
  const Icon = hasPicture(task) ? IconPhotoVideo : task.status === 'FAILURE' ? IconAlertCircle : IconHourglass;
  return <Icon size={size} stroke={1.4} />;
}

/** Failed tasks and those that run have none. */
export const hasPicture = ({ status, poster }: Pick<TaskSummary, 'status' | 'poster'>): boolean =>
  status === 'SUCCESS' || poster !== undefined;

function placeBeside(element: Element): { left: number; top: number } {
  const { right, top, height } = element.getBoundingClientRect();
  const highest = window.innerHeight - enlarged.height - enlarged.gap;
  const middle = top + height / 2 - enlarged.height / 2;
  return { left: right + enlarged.gap, top: Math.max(enlarged.gap, Math.min(middle, highest)) };
}
