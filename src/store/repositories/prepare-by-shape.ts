import { and, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../drivers/connection.ts';
import type { Page, Paged } from '../ports/index.ts';
import type { Tables } from '../schema/index.ts';

/** A prepared query. */
export type Select<Row> = { execute(values: Record<string, unknown>): Promise<Row[]> };

/** The most shapes that one statement keeps: far more than our own callers have. */
const MAX_SHAPES = 32;

/**
 * Prepared queries that differ by the members that `given` has, one for each such set, built on
 * first use. `create` must put a placeholder for each member, never its value. Callers name members
 * in an order of their own, so that another order is another set.
 */
export function lazyByShape<Given extends object, T>(create: (given: Given) => T): (given: Given) => T {
  const created = new Map<string, T>();
  return (given) => {
    const shape = givenNames(given).join();
    const known = created.get(shape);
    if (known !== undefined) return known;
    if (created.size >= MAX_SHAPES) created.clear();
    const query = create(given);
    created.set(shape, query);
    return query;
  };
}

const givenNames = (given: object): string[] =>
  Object.keys(given).filter((name) => (given as Record<string, unknown>)[name] !== undefined);

/** A typed placeholder for `set` and `values`; its value is encoded as the column encodes. */
export const columnPlaceholder = (name: string, column: Parameters<typeof sql.param>[1]): SQL =>
  sql`${sql.param(sql.placeholder(name), column)}`;

/**
 * A typed placeholder of its own name for each of `columns`; with `given`, for each member that it
 * has.
 */
export const columnPlaceholders = <K extends string>(
  columns: Record<K, Parameters<typeof sql.param>[1]>,
  given: { [Name in K]?: unknown } = columns,
): Record<K, SQL> =>
  Object.fromEntries(
    givenNames(given).map((name) => [name, columnPlaceholder(name, columns[name as K] as never)]),
  ) as Record<K, SQL>;

export const countAll = () => sql<number>`count(*)`.mapWith(Number);

/** The conditions of the members that `filter` has, each over a placeholder of its name. */
export const whereGiven = <Filter extends object>(
  filter: Filter,
  conditions: { [Name in keyof Filter]?: (value: SQL) => SQL | undefined },
): SQL | undefined =>
  and(...givenNames(filter).map((name) => conditions[name as keyof Filter]?.(sql`${sql.placeholder(name)}`)));

/** How far lists are counted that do not grow with each task or change (`countingLimit`). */
const countToEnd = (): number => Number.MAX_SAFE_INTEGER - 1;

/** A list of the rows of a table: `items` selects them in their order. */
type List<Row> = {
  from: Tables[keyof Tables];
  where: SQL | undefined;
  items: { limit(rows: Placeholder): { offset(rows: Placeholder): { prepare(): Select<Row> } } };
};

/**
 * Reads pages of a list. `create` builds its selects for the members of a filter, with placeholders
 * in place of their values; they are prepared once for each such set. Page 1 is the first.
 * `counts`: how far the rows are counted for a page that ends with the row `until`.
 */
export function createPages<Filter extends object, Row>(
  { db }: { db: Database },
  create: (filter: Filter) => List<Row>,
  counts: (until: number) => number = countToEnd,
): (filter: Filter, page: Page) => Promise<Paged<Row>> {
  const at = sql.placeholder;
  const prepared = lazyByShape((filter: Filter) => {
    const { from, where, items } = create(filter);
    const found = db
      .select({ one: sql`1`.as('one') })
      .from(from)
      .where(where)
      .limit(at('counted'))
      .as('found');
    return {
      count: db.select({ total: countAll() }).from(found).prepare(),
      items: items.limit(at('limit')).offset(at('offset')).prepare(),
    };
  });
  return async (filter, { page, pageSize }) => {
    const { count, items } = prepared(filter);
    const offset = (page - 1) * pageSize;
    const counted = counts(offset + pageSize);
    const [[row], rows] = await Promise.all([
      count.execute({ ...filter, counted: counted + 1 }),
      items.execute({ ...filter, limit: pageSize, offset }),
    ]);
    const total = row?.total ?? 0;
    return { total: Math.min(total, counted), hasMore: total > counted, items: rows };
  };
}
