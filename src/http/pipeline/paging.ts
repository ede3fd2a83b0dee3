import { t } from 'elysia';
import { readDate, sentence } from '../../kernel/index.ts';
import { fieldError } from '../bodies/validation-errors.ts';
import { httpErrors } from '../responses/errors.ts';
import { integerText } from './route-kit.ts';

/** Entries of a page, at most. */
const MAX_PAGE_SIZE = 100;
const DEFAULT_PAGE_SIZE = 20;

/** The last second of the year 9999: no later time is read of a query. */
export const LATEST_TIME = 253_402_300_799;

export type Page = { page: number; pageSize: number };
export type Paged<T> = { total: number; hasMore: boolean; items: T[] };

/** The query of every paged list. Both are texts, because they come from a query. */
export const pageQuery = {
  page: t.Optional(integerText({ minimum: 1, maximum: 1_000_000, default: 1 })),
  page_size: t.Optional(integerText({ minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE })),
};

/** @throws http.validation_failed */
export function readPage(query: { page?: string; page_size?: string }): { page: number; pageSize: number } {
  return {
    page: readInteger('page', query.page ?? '1', { min: 1, max: 1_000_000 }),
    pageSize: readInteger('page_size', query.page_size ?? String(DEFAULT_PAGE_SIZE), { min: 1, max: MAX_PAGE_SIZE }),
  };
}

/** The response of a paged list. `has_more`: there are more entries than `total`. */
export const paged = <T>(
  { page, pageSize }: { page: number; pageSize: number },
  { total, hasMore, items }: { total: number; hasMore: boolean; items: T[] },
) => ({ page, page_size: pageSize, total, has_more: hasMore, items });

/** One page of a list that is entirely in memory. */
export const slicePage = <T>(page: { page: number; pageSize: number }, all: readonly T[]) =>
  paged(page, {
    total: all.length,
    hasMore: false,
    items: all.slice((page.page - 1) * page.pageSize, page.page * page.pageSize),
  });

/** Parses a whole number of a query. @throws http.validation_failed */
export function readInteger(field: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw fieldError(field, 'wrong_value', sentence('http.whole', { name: field, min, max }));
}

/**
 * The id that a filter asks for by its name, or by the former one. An empty text is not a filter:
 * forms send empty fields. @throws http.validation_failed
 */
export function readIdFilter(
  query: Readonly<Record<string, string | undefined>>,
  [name, former]: readonly [name: string, former: string],
  min = 1,
): number | undefined {
  const field = query[name] ? name : former;
  const text = query[field];
  return text ? readInteger(field, text, { min, max: Number.MAX_SAFE_INTEGER }) : undefined;
}

/** Parses a day of a query, such as 2026-01-31: days since 1970. @throws http.validation_failed */
export function readDay(field: string, value: string): number {
  const day = readDate(value);
  if (day !== undefined && day >= 0) return day;
  throw fieldError(field, 'wrong_value', sentence('http.date', { name: field }));
}

/** Parses an id of a path; a text that is not an id matches nothing. @throws http.not_found */
export function readId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw httpErrors.not_found();
  return Number(text);
}
