import { Group, Pagination, Skeleton, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useEffectEvent } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './data-table.module.css';
import { QueryResult } from './query-result.tsx';
import { useFormat } from './use-format.ts';

export type Column<Row> = {
  key: string;
  heading: string;
  render(row: Row): ReactNode;
  /** Aligns figures to the right. */
  numeric?: boolean;
  /** Buttons at the end of the row; the heading is for screen readers only. */
  actions?: boolean;
  /** Hidden where not all columns fit. */
  minor?: boolean;
};

export type PagedRows<Row> = { page: number; page_size: number; total: number; items: readonly Row[] };

type PlainTableProps<Row> = {
  /** Name of the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string | number;
  /** The rows are outdated while new ones load. */
  isStale?: boolean;
};

/** Rows of a list. Where columns do not fit, each is a card whose values carry their headings. */
export function PlainTable<Row>({ label, columns, rows, rowKey, isStale = false }: PlainTableProps<Row>) {
  return (
    <div className={classes.frame} data-stale={isStale || undefined}>
      {/* In cards the elements are displayed as blocks and lose their table semantics, so the roles are explicit. */}
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table className={classes.table} aria-label={label} role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ key, heading, numeric, actions, minor }) => (
              <th
                key={key}
                scope="col"
                role="columnheader"
                data-numeric={numeric || undefined}
                data-minor={minor || undefined}
              >
                <span className={actions ? classes.unseen : undefined}>{heading}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row">
              {columns.map(({ key, heading, render, numeric, actions, minor }) => (
                <td
                  key={key}
                  role="cell"
                  data-heading={actions ? undefined : heading}
                  data-numeric={numeric || undefined}
                  data-actions={actions || undefined}
                  data-minor={minor || undefined}
                >
                  <div className={classes.value}>{render(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
    </div>
  );
}

type DataTableProps<Row> = Omit<PlainTableProps<Row>, 'rows' | 'isStale'> & {
  query: UseQueryResult<PagedRows<Row>>;
  /** Shown instead of an empty table. */
  empty: ReactNode;
  onPage(page: number): void;
};

/** A paged list of the API: loading, failed, empty or filled. */
export function DataTable<Row>({ query, empty, onPage, ...rows }: DataTableProps<Row>) {
  // If the rows of the last page were deleted, go back to the new last page.
  const isBeyond = query.data !== undefined && query.data.items.length === 0 && query.data.total > 0;
  const lastPage = isBeyond && !query.isPlaceholderData ? countPages(query.data) : null;
  const goBack = useEffectEvent(onPage);
  useEffect(() => {
    if (lastPage !== null) goBack(lastPage);
  }, [lastPage]);
  return (
    <QueryResult query={query} pending={<TableSkeleton />}>
      {(data) =>
        data.total === 0 ? (
          empty
        ) : (
          <div>
            <PlainTable {...rows} rows={data.items} isStale={query.isPlaceholderData} />
            <Pages data={data} onPage={onPage} />
          </div>
        )
      }
    </QueryResult>
  );
}

const countPages = ({ total, page_size }: Omit<PagedRows<unknown>, 'items'>): number =>
  Math.max(1, Math.ceil(total / page_size));

function Pages({ data, onPage }: { data: Omit<PagedRows<unknown>, 'items'>; onPage(page: number): void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const pages = countPages(data);
  const first = (data.page - 1) * data.page_size + 1;
  const range = {
    first: format.number(Math.min(first, data.total)),
    last: format.number(Math.min(first + data.page_size - 1, data.total)),
    total: format.number(data.total),
  };
  return (
    <Group justify="space-between" mt="md" gap="sm">
      <Text size="sm" c="dimmed" aria-live="polite">
        {t('table.range', range)}
      </Text>
      {pages > 1 && (
        <Pagination
          size="sm"
          total={pages}
          value={data.page}
          onChange={onPage}
          getControlProps={(control) => ({ 'aria-label': t(`table.${control}`) })}
          getItemProps={(page) => ({ 'aria-label': t('table.page', { page: format.number(page) }) })}
        />
      )}
    </Group>
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
