import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import type { TaskQuote } from '../../api/types.ts';
import { useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import type { Call } from './use-call.ts';
import type { Reader } from './use-reader.ts';

/** Delay after the last change before the price is asked for: a quote runs the plugin. */
const debounceMs = 450;

/** What the request reserves for the reader's key, in quota; null where that is not known. */
export function useSendPrice({ quoted }: Call, { typedKey }: Reader): number | null {
  const session = useSession();
  const isSignedIn = useSessionSnapshot().phase === 'signed_in';
  const [asked] = useDebouncedValue(quoted === null ? '' : JSON.stringify(quoted), debounceMs);
  const quote = useQuery({
    queryKey: ['quote', 'reference', asked, typedKey],
    queryFn: () => {
      const { plugin, body } = JSON.parse(asked) as NonNullable<Call['quoted']>;
      return typedKey === ''
        ? session
            .send<TaskQuote>({ method: 'POST', path: '/api/task/quote', body: { plugin_key: plugin, body } })
            .then((answer) => (answer.refused === null ? answer.quota : null))
        : readQuoteOfKey({ plugin, body, key: typedKey });
    },
    enabled: asked !== '' && (isSignedIn || typedKey !== ''),
    retry: false,
    gcTime: 0,
  });
  return quote.data ?? null;
}

type KeyQuote = NonNullable<Call['quoted']> & { key: string };

/** A key may be of another group than its account, with other prices. */
async function readQuoteOfKey({ plugin, body, key }: KeyQuote): Promise<number | null> {
  const response = await fetch(`/v1/tasks/${plugin}/quote`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    credentials: 'omit',
    body: JSON.stringify(body),
  });
  if (!response.ok) return null;
  const { cost } = (await response.json()) as { cost: { usd: number } };
  return Math.round(cost.usd * QUOTA_PER_USD);
}
