import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useEffect, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { errorMessage } from '../../api/error-message.ts';
import type { CallableModel, TaskQuote } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { type AttachedFiles, type RequestBody, withFileStandIns } from './attached-files.ts';
import { fillEmptyFields, findInvalidField } from './schema-fields.ts';

/** Delay after the last change before the price is requested: a quote runs the plugin. */
const debounceMs = 450;

type Refusal = NonNullable<TaskQuote['refused']>;

type Estimate = {
  price: Exclude<TaskQuote, { refused: Refusal }> | null;
  /** Why the request as it stands would be refused. */
  refusal: Refusal | null;
  /** The request lacks nothing but what is still to be filled in; it has a price all the same. */
  isUnfinished: boolean;
};

export type QuoteState = {
  quote: UseQueryResult<Estimate>;
  /** The quote belongs to the current request, not to a previous one. */
  isCurrent: boolean;
};

type QuoteInput = { offer: CallableModel | null; body: RequestBody; files: AttachedFiles };

/**
 * The price of the request, debounced. Files are short here: their content does not change the
 * price.
 */
export function useQuote({ offer, body, files }: QuoteInput): QuoteState {
  const session = useSession();
  // What is asked is what would be refused for certain only where the schema says so.
  const isAskable = offer !== null && offer.blocked === null && findInvalidField(offer, body) === null;
  const text =
    offer === null ? '' : JSON.stringify({ plugin_key: offer.plugin_key, body: withFileStandIns(body, files) });
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), debounceMs);
    return () => clearTimeout(timer);
  }, [text]);
  const ask = (request: QuoteRequest): Promise<TaskQuote> =>
    session.send<TaskQuote>({ method: 'POST', path: '/api/task/quote', body: request });
  const quote = useQuery({
    queryKey: ['quote', debounced],
    // Prices and balance may have changed.
    staleTime: 0,
    queryFn: () => estimate(ask, JSON.parse(debounced) as QuoteRequest, offer),
    // Right after the first choice of a model there is nothing to ask yet.
    enabled: isAskable && debounced !== '',
    retry: (failures, error) => failures < 2 && error instanceof ApiError && error.status === 0,
    placeholderData: keepPreviousData,
  });
  return { quote, isCurrent: debounced === text && !quote.isPlaceholderData };
}

type QuoteRequest = { plugin_key: string; body: RequestBody };

/** No price depends on the words of a prompt, so there is one before a prompt is typed. */
async function estimate(
  ask: (request: QuoteRequest) => Promise<TaskQuote>,
  request: QuoteRequest,
  offer: CallableModel | null,
): Promise<Estimate> {
  const { body } = request;
  const answer = await ask(request);
  if (answer.refused === null) return { price: answer, refusal: null, isUnfinished: false };
  const filled = offer === null ? body : fillEmptyFields(offer, body);
  if (JSON.stringify(filled) === JSON.stringify(body))
    return { price: null, refusal: answer.refused, isUnfinished: false };
  const finished = await ask({ ...request, body: filled });
  return finished.refused === null
    ? { price: finished, refusal: answer.refused, isUnfinished: true }
    : { price: null, refusal: finished.refused, isUnfinished: false };
}

/** What a plugin says of a request, where it says it in its own words. */
const pluginCodes: ReadonlySet<string> = new Set(['PLUGIN_REQUEST_INVALID', 'PLUGIN_USAGE_INVALID']);

/** Why a request would be refused, in the user's language; null: it would not. */
export function refusalText(refusal: Refusal | null, t: TFunction, language: string): string | null {
  if (refusal === null) return null;
  const { code, message, reason, params } = refusal;
  if ((reason === null || reason === 'plugin') && pluginCodes.has(code)) return message;
  const said = reason === null ? {} : { reason, params: params ?? {} };
  return errorMessage(new ApiError({ status: 400, code, message, ...said }), t, language);
}
