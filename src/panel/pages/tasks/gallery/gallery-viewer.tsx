import { ActionIcon, Anchor, Loader, Modal, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useEffectEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskArtifacts } from '../../../api/types.ts';
import { TaskStatus } from '../../../ui/display/status-label.tsx';
import { artifactPath } from '../read-task.ts';
import { taskPath, useTaskTitle } from '../use-task-columns.tsx';
import classes from './gallery.module.css';
import { useTaskFiles } from './gallery-tile.tsx';
import type { Tile } from './use-task-feed.ts';

type GalleryViewerProps = {
  tiles: readonly Tile[];
  index: number;
  onIndex(index: number): void;
  onNearEnd(): void;
  onClose(): void;
};

/** A task's result over the whole screen; arrow keys lead to the others. */
export function GalleryViewer({ tiles, index, onIndex, onNearEnd, onClose }: GalleryViewerProps) {
  const { t } = useTranslation();
  const toTitle = useTaskTitle();
  const tile = tiles[index] as Tile;
  const files = useTaskFiles(tile.id, tile.status === 'SUCCESS');
  const isNearEnd = index >= tiles.length - 3;
  const loadMore = useEffectEvent(onNearEnd);
  useEffect(() => {
    if (isNearEnd) loadMore();
  }, [isNearEnd]);
  const move = (by: number): void => {
    if (tiles[index + by] !== undefined) onIndex(index + by);
  };
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
        <Text component="span" lineClamp={1}>
          {toTitle(tile)}
        </Text>
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
      <div className={classes.stage}>
        {tile.status !== 'SUCCESS' ? (
          <TaskStatus status={tile.status} isWaiting={tile.isWaiting} />
        ) : files.data === undefined ? (
          files.isError ? (
            <Text>{t('task.artifact.failed')}</Text>
          ) : (
            <Loader aria-label={t('app.loading')} />
          )
        ) : (
          <LargeMedia key={tile.id} found={files.data} label={toTitle(tile)} />
        )}
        <Anchor component={Link} to={taskPath(tile)} size="sm">
          {t('tasks.gallery.open')}
        </Anchor>
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

function LargeMedia({ found, label }: { found: TaskArtifacts; label: string }) {
  const { t } = useTranslation();
  const first = found.artifacts.find(({ type }) => type !== 'file');
  const url = first?.content_url ?? found.legacy_content_url;
  const type = first?.type ?? found.legacy_content_type ?? 'video';
  if (url === undefined) return <Text c="dimmed">{t('task.resultNone')}</Text>;
  const path = artifactPath(url);
  if (type === 'image') return <img src={path} alt={label} />;
  // biome-ignore-start lint/a11y/useMediaCaption: vendors make no captions
  if (type === 'audio') return <audio controls src={path} aria-label={label} />;
  return <video controls autoPlay playsInline src={path} aria-label={label} />;
  // biome-ignore-end lint/a11y/useMediaCaption: see above
}
