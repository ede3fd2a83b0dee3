export type Page = { page: number; pageSize: number };

/**
 * How far lists that grow with each task or change are counted: to the next full thousand after
 * `until`, the last row of the page, so that each page costs the same.
 */
export const countingLimit = (until: number): number => (Math.floor(until / COUNTED_BEYOND) + 1) * COUNTED_BEYOND;
const COUNTED_BEYOND = 1000;

/** `hasMore`: there are more than `total`, which counts to the next thousand after the page. */
export type Paged<T> = { total: number; hasMore: boolean; items: T[] };
