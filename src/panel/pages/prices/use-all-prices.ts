import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { Price } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { withQuery } from '../../session/use-api.ts';

export type PriceList = { page: number; page_size: number; total: number; items: Price[] };

const path = '/api/price';
/** The API's maximum page size. */
const pageSize = 100;

/** All prices, read page by page: a price that is not in the list counts as missing. */
export function useAllPrices(): UseQueryResult<Price[]> {
  const session = useSession();
  return useQuery({
    queryKey: ['api', path, 'all'],
    queryFn: async () => {
      const prices: Price[] = [];
      for (let page = 1; ; page += 1) {
        const query = withQuery(path, { page, page_size: pageSize });
        const { items, total } = await session.send<PriceList>({ method: 'GET', path: query });
        prices.push(...items);
        if (items.length === 0 || page * pageSize >= total) return prices;
      }
    },
  });
}
