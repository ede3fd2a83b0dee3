import { IconPhotoVideo } from '@tabler/icons-react';
import { memo, useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallableModel, TaskArtifacts } from '../../../api/types.ts';
import { useApiQuery } from '../../../session/use-api.ts';
import { VendorWords } from '../../../ui/display/server-text.tsx';
import { TaskStatus } from '../../../ui/display/status-label.tsx';
import '../previews/drawing.css';
import { useMissingPreview } from '../previews/use-missing-preview.ts';
import { artifactPath } from '../read-task.ts';
import classes from './gallery.module.css';
import type { Tile } from './use-task-feed.ts';

const canHover = (): boolean => window.matchMedia('(hover: hover) and (pointer: fine)').matches;
const isMotionWelcome = (): boolean => !window.matchMedia('(prefers-reduced-motion: reduce)').matches;

/** A pointer, or a focus, that only passes loads nothing. */
const playDelayMs = 180;

/**
 * `maker`: its model, and whose it is. `cost`: what it cost, or how old it is. While it
 * runs, `progress` is a percentage and `reserved` what it may cost; then they are empty.
 */
export type TileWords = { title: string; maker: string; cost: string; progress: string; reserved: string };

/** The models that make videos, by name. */
export const useVideoModels = (): ReadonlySet<string> => {
  const { data } = useApiQuery<CallableModel[]>('/api/model');
  return useMemo(
    () => new Set(data?.filter(({ surfaces }) => surfaces.proto_video !== null).map(({ model }) => model)),
    [data],
  );
};

type GalleryTileProps = {
  tile: Tile;
  isVideo: boolean;
  describe(tile: Tile): TileWords;
  index: number;
  isFocusable: boolean;
  onOpen(index: number): void;
  onFocus(index: number): void;
};

/**
 * A picture of a task. Its video plays without sound while the pointer is over it, and while it has
 * the focus of the keyboard. Tiles come and go while one scrolls, so each does little: it reads
 * nothing before it plays, and is kept as it is, with its words, while others come into view.
 */
export const GalleryTile = memo(function GalleryTile(props: GalleryTileProps) {
  const { tile, isVideo, describe, index, isFocusable, onOpen, onFocus } = props;
  const [isHovered, setHovered] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [isBroken, setBroken] = useState(false);
  const isDrawing = useMissingPreview(tile.id, tile.status === 'SUCCESS' && tile.poster === undefined);
  const { title, maker, cost, progress, reserved } = describe(tile);
  return (
    <button
      type="button"
      className={classes.tile}
      data-index={index}
      tabIndex={isFocusable ? 0 : -1}
      onClick={() => onOpen(index)}
      onFocus={({ currentTarget }) => {
        onFocus(index);
        setFocused(currentTarget.matches(':focus-visible'));
      }}
      onBlur={() => setFocused(false)}
      onPointerEnter={() => setHovered(canHover())}
      onPointerLeave={() => setHovered(false)}
    >
      <span
        className={classes.picture}
        data-drawing={isDrawing || undefined}
        data-video={(isVideo && tile.poster !== undefined && !isBroken) || undefined}
      >
        {tile.poster === undefined || isBroken ? (
          <span className={classes.blank}>
            {tile.status === 'SUCCESS' ? (
              !isDrawing && <IconPhotoVideo size={26} stroke={1.3} aria-hidden="true" />
            ) : (
              <>
                <span>
                  <TaskStatus status={tile.status} isWaiting={tile.isWaiting} />
                  {progress !== '' && ` · ${progress}`}
                </span>
                {reserved !== '' && <span>{reserved}</span>}
                {tile.fail_reason !== '' && (
                  <span className={classes.reason}>
                    <VendorWords text={tile.fail_reason} sentence={tile.fail_reason_sentence} />
                  </span>
                )}
              </>
            )}
          </span>
        ) : (
          <img
            src={artifactPath(tile.poster.url)}
            loading="lazy"
            decoding="async"
            alt=""
            onError={() => setBroken(true)}
          />
        )}
        {(isHovered || isFocused) && tile.status === 'SUCCESS' && <TileVideo taskId={tile.id} />}
      </span>
      <span className={classes.title}>{title}</span>
      <span className={classes.note}>
        <span>{maker}</span> <span>{cost}</span>
      </span>
      {tile.status === 'FAILURE' && tile.poster !== undefined && <FailedNote />}
    </button>
  );
});

/** Reads where the video is, and plays it, a moment after it is wanted. */
function TileVideo({ taskId }: { taskId: string }) {
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setPlaying(isMotionWelcome()), playDelayMs);
    return () => clearTimeout(timer);
  }, []);
  const files = useTaskFiles(taskId, isPlaying);
  const video = firstVideo(files.data);
  return isPlaying && video !== undefined && <video src={artifactPath(video)} muted autoPlay loop playsInline />;
}

function FailedNote() {
  const { t } = useTranslation();
  return <span className={classes.unseen}>{t('task.status.FAILURE')}</span>;
}

/** The files of a task, with fresh links. */
const useTaskFiles = (taskId: string, enabled: boolean) =>
  useApiQuery<TaskArtifacts>(`/api/task/${encodeURIComponent(taskId)}/artifacts`, { enabled, keepPrevious: false });

const firstVideo = (found: TaskArtifacts | undefined): string | undefined =>
  found?.artifacts.find(({ type }) => type === 'video')?.content_url ??
  (found?.legacy_content_type === 'video' ? found.legacy_content_url : undefined);
