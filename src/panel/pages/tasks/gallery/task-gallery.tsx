import { Button, Group, Loader, Text } from '@mantine/core';
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorNotice } from '../../../ui/display/error-notice.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { isFinished, parsePercent } from '../read-task.ts';
import type { TaskQuery } from '../use-task-query.ts';
import { type Arrangement, arrangeTiles, gap, moveFocus, visibleRows } from './arrange-tiles.ts';
import classes from './gallery.module.css';
import { GalleryTile, type TileWords, useVideoModels } from './gallery-tile.tsx';
import { GalleryViewer } from './gallery-viewer.tsx';
import { maxTiles, type Tile, useTaskFeed } from './use-task-feed.ts';

type TaskGalleryProps = { tasks: TaskQuery; empty: ReactNode };

/**
 * Pictures of tasks. Only the rows on the screen are in the document; further tasks are loaded as
 * one comes near the end.
 */
export function TaskGallery({ tasks, empty }: TaskGalleryProps) {
  const { t } = useTranslation();
  const format = useFormat();
  // It stays the same in each render, so that tiles that stay in view are not drawn again.
  const describe = useCallback(
    (tile: Tile): TileWords => {
      const amount = format.money(tile.quota);
      const isFree = tile.quota === 0 && tile.status !== 'SUCCESS';
      const isEnded = isFinished(tile);
      const percent = tile.status === 'IN_PROGRESS' && !tile.isWaiting ? parsePercent(tile.progress) : null;
      return {
        title: tile.input || t('tasks.withoutInput'),
        maker: joinFacts(tile.model, tile.username ?? ''),
        cost: isFree || !isEnded ? format.ago(tile.created_at) : amount,
        progress: percent === null ? '' : format.percent(percent / 100),
        reserved: isFree || isEnded ? '' : `${amount} ${t('tasks.reserved')}`,
      };
    },
    [t, format],
  );
  const videoModels = useVideoModels();
  const { feed, tiles, isCut } = useTaskFeed(tasks);
  const box = useRef<HTMLUListElement>(null);
  const [opened, setOpened] = useState<number | null>(null);
  const [focused, setFocused] = useState(0);
  const { arrangement, range, isMeasured } = useVisibleRows(box, tiles.length);
  const { columns, rowHeight, rows, height } = arrangement;
  const { hasNextPage, isFetching, isError, fetchNextPage } = feed;

  const isNearEnd = isMeasured && range.end >= rows - 2;
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [isNearEnd, hasNextPage, isFetching, isError, fetchNextPage]);

  const [wanted, setWanted] = useState<number | null>(null);
  // The tile may have to be drawn first.
  useEffect(() => {
    if (wanted === null) return;
    const tile = box.current?.querySelector<HTMLElement>(`[data-index="${wanted}"]`);
    if (!tile) return;
    tile.focus();
    tile.scrollIntoView({ block: 'nearest' });
    setWanted(null);
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moveFocus(focused, event.key, { count: tiles.length, columns });
    if (next === focused) return;
    event.preventDefault();
    setWanted(next);
    const top = (box.current?.getBoundingClientRect().top ?? 0) + Math.floor(next / columns) * rowHeight;
    if (top < 0 || top + rowHeight > window.innerHeight) scrollBy({ top: top - window.innerHeight / 2 });
  };

  const isEmpty = tiles.length === 0 && !hasNextPage && feed.data !== undefined;
  const start = range.start * columns;
  return (
    <>
      {isError && <ErrorNotice error={feed.error} />}
      {isEmpty ? (
        empty
      ) : (
        <ul ref={box} className={classes.grid} style={{ height }} aria-label={t('tasks.heading')} onKeyDown={onKeyDown}>
          {tiles.slice(start, range.end * columns).map((tile, offset) => {
            const index = start + offset;
            return (
              <li
                key={tile.id}
                data-list-row
                style={{
                  width: `calc((100% - ${gap * (columns - 1)}px) / ${columns})`,
                  height: rowHeight - gap,
                  insetInlineStart: `calc((100% + ${gap}px) / ${columns} * ${index % columns})`,
                  transform: `translateY(${Math.floor(index / columns) * rowHeight}px)`,
                }}
              >
                <GalleryTile
                  tile={tile}
                  isVideo={videoModels.has(tile.model)}
                  describe={describe}
                  index={index}
                  isFocusable={
                    index === focused || (offset === 0 && (focused < start || focused >= range.end * columns))
                  }
                  onOpen={setOpened}
                  onFocus={setFocused}
                />
              </li>
            );
          })}
        </ul>
      )}
      {isFetching && (
        <Group justify="center" p="md">
          <Loader size="sm" aria-label={t('app.loading')} />
        </Group>
      )}
      {isCut && (
        <Text size="sm" c="dimmed" ta="center" p="md" role="status">
          {t('tasks.gallery.limit', { tasks: format.number(maxTiles) })}
        </Text>
      )}
      {isError && (
        <Button variant="default" onClick={() => void fetchNextPage()}>
          {t('app.retry')}
        </Button>
      )}
      {opened !== null && tiles[opened] !== undefined && (
        <GalleryViewer
          tiles={tiles}
          index={opened}
          hasMore={hasNextPage}
          onIndex={setOpened}
          onNearEnd={() => hasNextPage && !isFetching && void fetchNextPage()}
          onClose={() => {
            setWanted(opened);
            setOpened(null);
          }}
        />
      )}
    </>
  );
}

const joinFacts = (...facts: string[]): string => facts.filter((fact) => fact !== '').join(' · ');

/** How tiles are arranged in the element, and which rows of it are on the screen. */
export function useVisibleRows(box: RefObject<HTMLElement | null>, count: number) {
  const [width, setWidth] = useState(0);
  const arrangement: Arrangement = useMemo(() => arrangeTiles(count, width), [count, width]);
  const [range, setRange] = useState({ start: 0, end: 0 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  useEffect(() => {
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      if (box.current === null) return;
      const next = visibleRows(arrangement, -box.current.getBoundingClientRect().top, window.innerHeight);
      setRange((before) => (before.start === next.start && before.end === next.end ? before : next));
    };
    const onScroll = (): void => {
      if (frame === 0) frame = requestAnimationFrame(measure);
    };
    measure();
    // Scrolls of any element, since not the window but the frame's main part may scroll.
    document.addEventListener('scroll', onScroll, { capture: true, passive: true });
    window.addEventListener('resize', onScroll);
    return () => {
      cancelAnimationFrame(frame);
      document.removeEventListener('scroll', onScroll, { capture: true });
      window.removeEventListener('resize', onScroll);
    };
  }, [box, arrangement]);
  return { arrangement, range, isMeasured: width > 0 };
}
