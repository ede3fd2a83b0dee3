import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import type { CallableModel, TaskQuote } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import type { RequestBody } from './attached-files.ts';
import { findInvalidField } from './find-invalid-field.ts';

/** Delay after the last change before the price is requested: a quote runs the plugin. */
const debounceMs = 450;

export type QuoteState = {
  quote: UseQueryResult<TaskQuote>;
  /** The quote belongs to the current request, not to a previous one. */
  isCurrent: boolean;
};

/**
 * The price of the request, debounced. Files stay placeholders here: they do not change the price.
 */
export function useQuote(offer: CallableModel | null, body: RequestBody): QuoteState {
  const session = useSession();
  // What is asked is what would be refused for certain only where the schema says so.
  const isAskable = offer !== null && offer.blocked === null && findInvalidField(offer, body) === null;
  const text = JSON.stringify({ plugin_key: offer?.plugin_key, body: withAnyPrompt(body) });
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), debounceMs);
    return () => clearTimeout(timer);
  }, [text]);
  const quote = useQuery({
    queryKey: ['quote', debounced],
    // Prices and balance may have changed.
    staleTime: 0,
    queryFn: () =>
      session.send<TaskQuote>({ method: 'POST', path: '/api/task/quote', body: JSON.parse(debounced) as unknown }),
    enabled: isAskable,
    retry: (failures, error) => failures < 2 && error instanceof ApiError && error.status === 0,
    placeholderData: keepPreviousData,
  });
  return { quote, isCurrent: debounced === text && !quote.isPlaceholderData };
}

/** No price depends on the words of a prompt, so there is one before a prompt is typed. */
const withAnyPrompt = (body: RequestBody): RequestBody =>
  body.prompt === undefined || body.prompt === '' ? { ...body, prompt: '-' } : body;
