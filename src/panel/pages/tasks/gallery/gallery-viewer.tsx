import { ActionIcon, Button, Group, Loader, Modal, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import {
  type CSSProperties,
  type KeyboardEvent,
  type TouchEvent,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskDetail } from '../../../api/types.ts';
import { useSessionSnapshot } from '../../../session/session-context.tsx';
import { useApiQuery } from '../../../session/use-api.ts';
import { ErrorNotice } from '../../../ui/display/error-notice.tsx';
import { VendorWords } from '../../../ui/display/server-text.tsx';
import { TaskStatus } from '../../../ui/display/status-label.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { artifactPath } from '../read-task.ts';
import { CopyLinkButton, DownloadButton } from '../task/task-result.tsx';
import { useTaskActions } from '../task/use-task-actions.tsx';
import { taskPath, useTaskTitle } from '../use-task-columns.tsx';
import classes from './gallery.module.css';
import type { Tile } from './use-task-feed.ts';

type GalleryViewerProps = {
  tiles: readonly Tile[];
  index: number;
  /** The list goes on after these tiles. */
  hasMore: boolean;
  onIndex(index: number): void;
  onNearEnd(): void;
  onClose(): void;
};

/**
 * A task's result over the whole screen, with what it cost and what can be done with it; arrow keys
 * and a swipe lead to the others.
 */
export function GalleryViewer({ tiles, index, hasMore, onIndex, onNearEnd, onClose }: GalleryViewerProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const toTitle = useTaskTitle();
  const tile = tiles[index] as Tile;
  const task = useApiQuery<TaskDetail>(`/api/task/${encodeURIComponent(tile.id)}`, { keepPrevious: false });
  const isNearEnd = index >= tiles.length - 3;
  const loadMore = useEffectEvent(onNearEnd);
  useEffect(() => {
    if (isNearEnd) loadMore();
  }, [isNearEnd]);
  const move = (by: number): void => {
    if (tiles[index + by] !== undefined) onIndex(index + by);
  };
  const swipe = useSwipe(move);
  const onKeyDown = (event: KeyboardEvent): void => {
    // A player moves its own position by these keys.
    if (event.target instanceof HTMLMediaElement) return;
    if (event.key === 'ArrowLeft') move(-1);
    if (event.key === 'ArrowRight') move(1);
  };
  return (
    <Modal
      opened
      fullScreen
      onClose={onClose}
      title={
        <>
          <Text component="span" lineClamp={2}>
            {toTitle(tile)}
          </Text>
          <Text component="span" size="sm" c="dimmed" fw={400}>
            {t('tasks.gallery.place', {
              place: format.number(index + 1),
              tasks: `${format.number(tiles.length)}${hasMore ? '+' : ''}`,
            })}
          </Text>
        </>
      }
      closeButtonProps={{ 'aria-label': t('app.close') }}
      classNames={{ body: classes.viewerBody ?? '', content: classes.viewer ?? '' }}
      onKeyDown={onKeyDown}
    >
      <ActionIcon
        variant="default"
        size={44}
        aria-label={t('tasks.gallery.previous')}
        disabled={index === 0}
        onClick={() => move(-1)}
      >
        <IconChevronLeft size={22} stroke={1.6} />
      </ActionIcon>
      <div className={classes.stage} {...swipe}>
        {task.data !== undefined ? (
          <ViewedTask key={tile.id} task={task.data} label={toTitle(tile)} username={tile.username} />
        ) : task.isError ? (
          <ErrorNotice error={task.error} />
        ) : (
          <Loader aria-label={t('app.loading')} />
        )}
      </div>
      <ActionIcon
        variant="default"
        size={44}
        aria-label={t('tasks.gallery.next')}
        disabled={index >= tiles.length - 1}
        onClick={() => move(1)}
      >
        <IconChevronRight size={22} stroke={1.6} />
      </ActionIcon>
    </Modal>
  );
}

/** Characters of a prompt that the dialog's title shows. */
const maxTitle = 60;

/** Pixels that a finger travels to lead on. */
const swipePx = 60;

/** A swipe leads to the other tasks; a player keeps those along its controls. */
function useSwipe(move: (by: number) => void) {
  const start = useRef<{ x: number; y: number } | null>(null);
  return {
    onTouchStart: ({ touches, target }: TouchEvent): void => {
      const touch = touches.item(0);
      const isOnControls =
        target instanceof HTMLMediaElement && touch.clientY > target.getBoundingClientRect().bottom - swipePx;
      start.current = touches.length > 1 || isOnControls ? null : { x: touch.clientX, y: touch.clientY };
    },
    onTouchEnd: ({ changedTouches }: TouchEvent): void => {
      const from = start.current;
      const touch = changedTouches.item(0);
      start.current = null;
      if (from === null) return;
      const [x, y] = [touch.clientX - from.x, touch.clientY - from.y];
      if (Math.abs(x) > swipePx && Math.abs(x) > 2 * Math.abs(y)) move(x < 0 ? 1 : -1);
    },
  };
}

/** The file, the prompt that made it, its model and cost, and what can be done with it. */
function ViewedTask({
  task,
  label,
  username,
}: {
  task: TaskDetail;
  label: string;
  username: string | null | undefined;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const { bundle } = useSessionSnapshot();
  const isOwn = task.user_id === undefined || task.user_id === bundle?.user.id;
  const actions = useTaskActions(task, isOwn);
  const file = task.artifacts.find(({ type }) => type !== 'file') ?? task.artifacts[0];
  return (
    <>
      {file !== undefined ? (
        <LargeMedia file={file} label={label} />
      ) : task.fail_reason !== '' ? (
        <Text maw={640} ta="center">
          <VendorWords text={task.fail_reason} sentence={task.fail_reason_sentence} />
        </Text>
      ) : task.status === 'SUCCESS' ? (
        <Text c="dimmed">{t('task.resultNone')}</Text>
      ) : (
        <TaskStatus status={task.status} isWaiting={task.queue !== undefined} />
      )}
      {task.input.length > maxTitle && (
        <Text size="sm" lineClamp={3} maw={760} ta="center">
          {task.input}
        </Text>
      )}
      <Text size="sm" c="dimmed">
        {[task.model, username, format.money(task.bill.settled ?? task.bill.reserved), format.ago(task.created_at)]
          .filter((part) => part)
          .join(' · ')}
      </Text>
      <Group gap="xs" justify="center" className={classes.actions ?? ''}>
        {file !== undefined && <DownloadButton taskId={task.id} artifact={file} size="sm" isPrimary />}
        {actions.buttons}
        {file !== undefined && <CopyLinkButton artifact={file} size="sm" />}
        <Button component={Link} to={taskPath(task)} size="sm" variant="default">
          {t('tasks.gallery.open')}
        </Button>
      </Group>
    </>
  );
}

type File = TaskDetail['artifacts'][number];

function LargeMedia({ file: { type, content_url: url, preview }, label }: { file: File; label: string }) {
  const path = artifactPath(url);
  // A preview has the shape of its picture, which is not known until it has loaded.
  const [ratio, setRatio] = useState(preview === undefined ? 16 / 9 : preview.width / preview.height);
  const style = { '--ratio': ratio } as CSSProperties;
  const measure = (width: number, height: number): void => {
    if (width > 0 && height > 0) setRatio(width / height);
  };
  if (type === 'image') {
    return (
      <img
        src={path}
        alt={label}
        style={style}
        onLoad={({ currentTarget }) => measure(currentTarget.naturalWidth, currentTarget.naturalHeight)}
      />
    );
  }
  // biome-ignore-start lint/a11y/useMediaCaption: vendors make no captions
  if (type === 'audio') return <audio controls src={path} aria-label={label} />;
  if (type === 'video') {
    return (
      <video
        controls
        autoPlay
        playsInline
        src={path}
        aria-label={label}
        style={style}
        onLoadedMetadata={({ currentTarget }) => measure(currentTarget.videoWidth, currentTarget.videoHeight)}
      />
    );
  }
  // biome-ignore-end lint/a11y/useMediaCaption: see above
  return null;
}
