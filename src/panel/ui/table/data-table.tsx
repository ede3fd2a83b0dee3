import { Checkbox, Skeleton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { UseQueryResult } from '@tanstack/react-query';
import { Fragment, isValidElement, type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { QueryResult } from '../display/query-result.tsx';
import classes from './data-table.module.css';
import { GroupRow } from './group-row.tsx';
import { countPages, type PageOf, Pages } from './table-pages.tsx';

export type Column<Row> = {
  key: string;
  heading: string;
  render(row: Row): ReactNode;
  /** Aligns figures to the right. */
  numeric?: boolean;
  /** A short figure that stands before the name of the row, in the first column. */
  leads?: boolean;
  /** Buttons at the end of the row; the heading is for screen readers only. */
  actions?: boolean;
  /** Left out where columns are narrow, as on a tablet: what the row's page says too. */
  minor?: boolean;
  /** A long text, which is given room and is cut in a dense table. */
  wide?: boolean;
  /** The orders that the heading switches between, the first one first. */
  sorts?: readonly Sort[];
};

type Sort = { value: string; direction: 'ascending' | 'descending' };

export type PagedRows<Row> = PageOf & { items: readonly Row[] };

type RowKey = string | number;

type TableSelection<Row> = {
  keys: ReadonlySet<RowKey>;
  /** What the checkbox of a row is called. */
  label(row: Row): string;
  onChange(keys: ReadonlySet<RowKey>): void;
};

type PlainTableProps<Row> = {
  /** Name of the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): RowKey;
  /** The rows are outdated while new ones load. */
  isStale?: boolean;
  /** What a row is on a phone: a `RowBrief`. Without it, it is a card. */
  brief?(row: Row): ReactNode;
  selection?: TableSelection<Row>;
  sort?: string;
  onSort?(value: string): void;
  /** Rows of 40 px; where the table is narrow, of 48 px and more. */
  isDense?: boolean;
  /** The heading that rows in a sequence share, such as their day. */
  group?(row: Row): string;
  /** The figure of the rows that share it, such as their sum. */
  groupFigure?(row: Row): ReactNode;
  /** Its place is as narrow as a phone: rows are `brief`, whatever the screen. */
  isNarrow?: boolean;
};

/**
 * Rows of a list. A narrow table leaves its minor columns out; below 600 px each row is a card
 * whose values carry their headings, and on a phone it has two lines. A `RowLink` in the first
 * column makes the whole row a link.
 */
export function PlainTable<Row>({ label, rows, isStale = false, brief, ...table }: PlainTableProps<Row>) {
  const { columns, rowKey, selection, sort, onSort, group, groupFigure, isDense = false, isNarrow = false } = table;
  // A page as wide as this leaves 599 px for a table.
  const isPhone = useMediaQuery('(max-width: 633px)', undefined, { getInitialValueInEffect: false }) || isNarrow;
  const shownBrief = isPhone ? brief : undefined;
  const [lastChosen, setLastChosen] = useState<RowKey | null>(null);
  /** With Shift all rows between the last one and this one follow it. */
  const choose = (key: RowKey, { isChosen, isRange }: { isChosen: boolean; isRange: boolean }): void => {
    const keys = rows.map(rowKey);
    const [from, to] = [isRange && lastChosen !== null ? keys.indexOf(lastChosen) : -1, keys.indexOf(key)];
    const meant = from < 0 ? [key] : keys.slice(Math.min(from, to), Math.max(from, to) + 1);
    const others = [...(selection?.keys ?? [])].filter((each) => !meant.includes(each));
    setLastChosen(key);
    selection?.onChange(new Set(isChosen ? [...others, ...meant] : others));
  };
  /** The group of a row, unless the row before it is of the same. */
  const headingAbove = (index: number): string | undefined => {
    const [before, name] = [rows[index - 1], rows[index]].map((row) => row && group?.(row));
    return name === before ? undefined : name;
  };
  return (
    <div className={classes.frame} data-stale={isStale || undefined}>
      {/* In cards the elements are displayed as blocks and lose their table semantics, so the roles are explicit. */}
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table
        className={classes.table}
        aria-label={label}
        role="table"
        data-dense={isDense || undefined}
        data-shared={columns.some(({ wide }, index) => wide && index > 0) || undefined}
        data-brief={shownBrief !== undefined || undefined}
        data-selectable={selection !== undefined || undefined}
      >
        <thead role="rowgroup">
          <tr role="row">
            {selection && (
              <th scope="col" role="columnheader" data-select>
                <SelectAll selection={selection} keys={rows.map(rowKey)} />
              </th>
            )}
            {columns.map((column, index) => (
              <th
                key={column.key}
                scope="col"
                role="columnheader"
                data-name={index === nameIndex(columns) || undefined}
                data-numeric={column.numeric || undefined}
                data-minor={column.minor || undefined}
                data-wide={column.wide || undefined}
                data-short={isShort(column.heading) || undefined}
                aria-sort={column.sorts?.find(({ value }) => value === sort)?.direction}
              >
                <ColumnHeading column={column} sort={sort} {...(onSort && !isPhone ? { onSort } : {})} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row, index) => (
            <Fragment key={rowKey(row)}>
              <GroupRow name={headingAbove(index)} figure={groupFigure?.(row)} span={columns.length} />
              <tr role="row" data-selected={selection?.keys.has(rowKey(row)) || undefined}>
                {selection && (
                  <td role="cell" data-select>
                    <SelectRow
                      label={selection.label(row)}
                      isChosen={selection.keys.has(rowKey(row))}
                      onChoose={(isChosen, isRange) => choose(rowKey(row), { isChosen, isRange })}
                    />
                  </td>
                )}
                {shownBrief ? (
                  <td role="cell" data-name>
                    {shownBrief(row)}
                  </td>
                ) : (
                  <RowCells row={row} columns={columns} />
                )}
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
    </div>
  );
}

/** The column that names its row. */
const nameIndex = (columns: readonly { leads?: boolean }[]): number => (columns[0]?.leads ? 1 : 0);

const RowCells = <Row,>({ row, columns }: { row: Row; columns: readonly Column<Row>[] }) =>
  columns.map(({ key, heading, render, numeric, actions, minor, wide }, index) => {
    const value = render(row);
    return (
      <td
        key={key}
        // biome-ignore lint/a11y/noRedundantRoles: as in the table
        role="cell"
        data-name={index === nameIndex(columns) || undefined}
        data-heading={actions ? undefined : heading}
        data-numeric={numeric || undefined}
        data-actions={actions || undefined}
        data-minor={minor || undefined}
        data-wide={wide || undefined}
        data-short={isShort(value) || undefined}
        data-empty={value === '' || value === false || value == null || undefined}
      >
        <div className={classes.value}>{value}</div>
      </td>
    );
  });

/** The most letters of a text that stays on one line: a time, or a heading of two words. */
const shortText = 18;

/** A text that stays on one line. */
function isShort(value: ReactNode): boolean {
  const text = isValidElement<{ children?: unknown }>(value) ? value.props.children : value;
  return typeof text === 'string' && text.length <= shortText;
}

/** The link of a row: a click anywhere in the row follows it. */
export function RowLink({ to, className, children }: { to: string; className?: string; children: ReactNode }) {
  return (
    <Link to={to} className={[classes.rowLink, className].filter(Boolean).join(' ')}>
      {children}
    </Link>
  );
}

type RowButtonProps = { onPress(): void; isOpen?: boolean; className?: string; children: ReactNode };

/** The button of a row: a click anywhere in the row presses it. `isOpen`: more of it is shown. */
export function RowButton({ onPress, isOpen, className, children }: RowButtonProps) {
  return (
    <button
      type="button"
      className={`${classes.rowButton} ${classes.rowLink}`}
      aria-expanded={isOpen}
      onClick={onPress}
    >
      <span className={className}>{children}</span>
    </button>
  );
}

type ColumnHeadingProps<Row> = { column: Column<Row>; sort: string | undefined; onSort?(value: string): void };

function ColumnHeading<Row>({ column: { heading, actions, sorts }, sort, onSort }: ColumnHeadingProps<Row>) {
  if (sorts === undefined || onSort === undefined)
    return <span className={actions ? classes.unseen : undefined}>{heading}</span>;
  const at = sorts.findIndex(({ value }) => value === sort);
  const next = sorts[(at + 1) % sorts.length];
  return (
    <button type="button" className={classes.sort} onClick={() => next && onSort(next.value)}>
      {heading}
      <span aria-hidden="true" className={classes.arrow}>
        {at < 0 ? '' : sorts[at]?.direction === 'ascending' ? '↑' : '↓'}
      </span>
    </button>
  );
}

function SelectAll<Row>({ selection, keys }: { selection: TableSelection<Row>; keys: readonly RowKey[] }) {
  const { t } = useTranslation();
  const chosen = keys.filter((key) => selection.keys.has(key)).length;
  const isAll = chosen === keys.length;
  return (
    <Checkbox
      size="xs"
      aria-label={t('table.selectAll')}
      checked={isAll}
      indeterminate={chosen > 0 && !isAll}
      onChange={() => selection.onChange(new Set(isAll ? [] : keys))}
    />
  );
}

type SelectRowProps = { label: string; isChosen: boolean; onChoose(isChosen: boolean, isRange: boolean): void };

const SelectRow = ({ label, isChosen, onChoose }: SelectRowProps) => (
  <Checkbox
    size="xs"
    aria-label={label}
    checked={isChosen}
    onChange={({ currentTarget: { checked }, nativeEvent }) =>
      // Browsers change a checkbox in a click.
      onChoose(checked, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
    }
  />
);

type DataTableProps<Row> = Omit<PlainTableProps<Row>, 'rows' | 'isStale' | 'brief'> & {
  query: UseQueryResult<PagedRows<Row>>;
  /** Lists that go on for pages have two lines a row on a phone: a `RowBrief`. */
  brief(row: Row): ReactNode;
  /** Shown instead of an empty table. */
  empty: ReactNode;
  onPage(page: number): void;
  /** Offers pages of other sizes. */
  onPageSize?(size: number): void;
};

/** A paged list of the API: loading, failed, empty or filled. */
export function DataTable<Row>({ query, empty, onPage, onPageSize, ...rows }: DataTableProps<Row>) {
  // If the rows of the last page were deleted, go back to the new last page.
  const isBeyond = query.data !== undefined && query.data.items.length === 0 && query.data.total > 0;
  const lastPage = isBeyond && !query.isPlaceholderData ? countPages(query.data) : null;
  const goBack = useEffectEvent(onPage);
  const list = useRef<HTMLDivElement>(null);
  const turn = (page: number): void => {
    onPage(page);
    // One reads a page from its first row on.
    if ((list.current?.getBoundingClientRect().top ?? 0) < 0) list.current?.scrollIntoView({ block: 'start' });
  };
  useEffect(() => {
    if (lastPage !== null) goBack(lastPage);
  }, [lastPage]);
  return (
    <QueryResult query={query} pending={<TableSkeleton />}>
      {(data) =>
        data.total === 0 ? (
          empty
        ) : (
          <div ref={list} className={classes.list}>
            <PlainTable {...rows} rows={data.items} isStale={query.isPlaceholderData} />
            <Pages data={data} onPage={turn} {...(onPageSize ? { onPageSize } : {})} />
          </div>
        )
      }
    </QueryResult>
  );
}

export function TableSkeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div className={classes.frame} aria-hidden="true">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={classes.skeleton}>
          <Skeleton h={14} w={`${30 + ((row * 17) % 40)}%`} />
          <Skeleton h={14} w="14%" />
        </div>
      ))}
    </div>
  );
}
