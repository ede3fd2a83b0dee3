import { IconPhoto } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSessionSnapshot } from '../../../session/session-context.tsx';
import { TaskStatus } from '../../../ui/display/status-label.tsx';
import { artifactPath } from '../artifact-path.ts';
import { useMissingPreview } from '../previews/use-missing-preview.ts';
import { useTaskTitle } from '../use-task-columns.tsx';
import classes from './gallery.module.css';
import type { Tile } from './use-task-feed.ts';
import { firstVideo, useTaskFiles } from './use-task-files.ts';

/** Where a pointer can hover, and motion is not unwelcome. */
const mayPlay = (): boolean =>
  window.matchMedia('(hover: hover) and (pointer: fine)').matches &&
  !window.matchMedia('(prefers-reduced-motion: reduce)').matches;

/** A pointer that only passes loads nothing. */
const hoverDelayMs = 180;

type GalleryTileProps = {
  tile: Tile;
  index: number;
  isFocusable: boolean;
  onOpen(index: number): void;
  onFocus(index: number): void;
};

/** A picture of a task. Its video plays without sound while the pointer is over it. */
export function GalleryTile({ tile, index, isFocusable, onOpen, onFocus }: GalleryTileProps) {
  const { t } = useTranslation();
  const titleOf = useTaskTitle();
  const { bundle } = useSessionSnapshot();
  const [isHovered, setHovered] = useState(false);
  const [isPlaying, setPlaying] = useState(false);
  const isOwn = tile.user_id === undefined || tile.user_id === bundle?.user.id;
  useMissingPreview(tile.id, isOwn && tile.status === 'SUCCESS' && tile.poster === undefined);
  useEffect(() => {
    if (!isHovered) return setPlaying(false);
    const timer = setTimeout(() => setPlaying(mayPlay()), hoverDelayMs);
    return () => clearTimeout(timer);
  }, [isHovered]);
  const files = useTaskFiles(tile.id, isPlaying && tile.status === 'SUCCESS');
  const video = isPlaying ? firstVideo(files.data) : undefined;
  return (
    <button
      type="button"
      className={classes.tile}
      data-index={index}
      tabIndex={isFocusable ? 0 : -1}
      onClick={() => onOpen(index)}
      onFocus={() => onFocus(index)}
      onPointerEnter={() => setHovered(true)}
      onPointerLeave={() => setHovered(false)}
    >
      <span className={classes.picture}>
        {tile.poster === undefined ? (
          <span className={classes.blank}>
            {tile.status === 'SUCCESS' ? (
              <IconPhoto size={26} stroke={1.3} aria-hidden="true" />
            ) : (
              <TaskStatus status={tile.status} />
            )}
          </span>
        ) : (
          <img src={artifactPath(tile.poster.url)} loading="lazy" decoding="async" alt="" />
        )}
        {video !== undefined && <video src={artifactPath(video)} muted autoPlay loop playsInline />}
      </span>
      <span className={classes.title}>{titleOf(tile)}</span>
      {tile.status === 'FAILURE' && tile.poster !== undefined && (
        <span className={classes.unseen}>{t('task.status.FAILURE')}</span>
      )}
    </button>
  );
}
