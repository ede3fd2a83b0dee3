export type Arrangement = { columns: number; rowHeight: number; rows: number; height: number };

export const gap = 12;
const minWidth = 200;
const minWidthOnPhone = 150;

/** Tiles of one size in as many columns as fit. */
export function arrangeTiles(count: number, width: number): Arrangement {
  const least = width < 500 ? minWidthOnPhone : minWidth;
  const columns = Math.max(1, Math.floor((width + gap) / (least + gap)));
  const tileWidth = (width - gap * (columns - 1)) / columns;
  // Sixteen by nine, and three lines below.
  const rowHeight = Math.round((tileWidth * 9) / 16) + 78 + gap;
  const rows = Math.ceil(count / columns);
  return { columns, rowHeight, rows, height: rows * rowHeight };
}

/** Rows beyond the screen that are drawn too. */
const overscan = 2;

/** The rows that are on the screen, `end` exclusive. `top`: pixels of the list above the screen. */
export function visibleRows({ rows, rowHeight }: Arrangement, top: number, height: number) {
  const first = Math.floor(top / rowHeight) - overscan;
  const last = Math.ceil((top + height) / rowHeight) + overscan;
  return { start: Math.min(rows, Math.max(0, first)), end: Math.max(0, Math.min(rows, last)) };
}

/** The tile that an arrow key leads to; the same one at an edge. */
export function moveFocus(at: number, key: string, { count, columns }: { count: number; columns: number }): number {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
    Home: -at,
    End: count - 1 - at,
  };
  const next = at + (steps[key] ?? 0);
  return next >= 0 && next < count ? next : at;
}
