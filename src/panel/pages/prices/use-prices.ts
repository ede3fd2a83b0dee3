import { type UseQueryResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Price } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { withQuery } from '../../session/use-api.ts';
import { notifySuccess } from '../../ui/display/notify.ts';

type PricePage = { page: number; page_size: number; total: number; items: Price[] };

const path = '/api/price';
/** The API's maximum page size. */
const pageSize = 100;

/**
 * All prices, or what `select` makes of them. They are read page by page: a price that is not in
 * the list counts as missing.
 */
export function useAllPrices<T = Price[]>(select?: (prices: Price[]) => T): UseQueryResult<T> {
  const session = useSession();
  return useQuery({
    ...(select && { select }),
    queryKey: ['api', path, 'all'],
    queryFn: async () => {
      const prices: Price[] = [];
      for (let page = 1; ; page += 1) {
        const query = withQuery(path, { page, page_size: pageSize });
        const { items, total } = await session.send<PricePage>({ method: 'GET', path: query });
        prices.push(...items);
        if (items.length === 0 || page * pageSize >= total) return prices;
      }
    },
  });
}

type PriceChange = { plugin_key: string; model: string; expression: string };

/** Saves one price after the other: what was saved before a refusal stays saved. */
export function useSavePrices(onSaved: () => void) {
  const { t } = useTranslation();
  const session = useSession();
  const queries = useQueryClient();
  const refetch = () =>
    queries.invalidateQueries({
      predicate: ({ queryKey: [kind, path] }) =>
        kind === 'api' &&
        typeof path === 'string' &&
        ['/api/price', '/api/model', '/api/attention', '/api/channel'].some((prefix) => path.startsWith(prefix)),
    });
  return useMutation({
    mutationFn: async (changes: readonly PriceChange[]) => {
      for (const { plugin_key, model, expression } of changes)
        await session.send({ method: 'PUT', path: '/api/price', body: { plugin_key, model, expression } });
    },
    onSuccess: async (_answer, { length }) => {
      await refetch();
      notifySuccess(t('prices.table.saved', { count: length }));
      onSaved();
    },
    onError: () => void refetch(),
  });
}
