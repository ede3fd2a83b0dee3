import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../session/session-context.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';

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
