import type { Price } from '../../api/types.ts';

export type PriceList = { page: number; page_size: number; total: number; items: Price[] };

/** The largest page that the API gives. */
export const pageSize = 100;
export const allPrices = `/api/price?page_size=${pageSize}`;
