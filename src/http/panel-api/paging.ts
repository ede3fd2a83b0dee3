import { t } from 'elysia';
import { fieldError } from '../bodies/field-error.ts';
import { httpErrors } from '../errors.ts';

/** Lists are pages of at most this many entries. */
const MAX_PAGE_SIZE = 100;
const DEFAULT_PAGE_SIZE = 20;

/** The query of every paged list; texts, since they come from an address. */
export const pageQuery = {
  page: t.Optional(t.String({ description: '1-based; default 1' })),
  page_size: t.Optional(t.String({ description: `1 to ${MAX_PAGE_SIZE}; default ${DEFAULT_PAGE_SIZE}` })),
};

/** @throws http.validation_failed */
export function readPage(query: { page?: string; page_size?: string }): { page: number; pageSize: number } {
  return {
    page: readWhole('page', query.page ?? '1', 1, 1_000_000),
    pageSize: readWhole('page_size', query.page_size ?? String(DEFAULT_PAGE_SIZE), 1, MAX_PAGE_SIZE),
  };
}

/** The shape of a page; `total` counts all pages. */
export const paged = <T>(
  { page, pageSize }: { page: number; pageSize: number },
  { total, items }: { total: number; items: T[] },
) => ({ page, page_size: pageSize, total, items });

/** One page of a list that is in memory as a whole. */
export const slicePage = <T>(page: { page: number; pageSize: number }, all: readonly T[]) =>
  paged(page, { total: all.length, items: all.slice((page.page - 1) * page.pageSize, page.page * page.pageSize) });

/** A number out of an address. @throws http.validation_failed */
export function readWhole(field: string, text: string, low: number, high: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= low && value <= high) return value;
  throw fieldError(field, 'wrong_value', `"${field}" must be a whole number from ${low} to ${high}.`);
}

/** An id out of a path: what is no id names nothing. @throws http.not_found */
export function readId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw httpErrors.not_found();
  return Number(text);
}
