import { ApiError, readFieldErrors, readSentence } from './api-error.ts';

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** `blob` for an image; everything else is JSON in the API's envelope. */
  as?: 'blob';
  /** Timeout in ms; 20 s by default. */
  timeoutMs?: number;
  /** Breaks the request off; it then rejects with the signal's reason. */
  signal?: AbortSignal;
};

/**
 * Sends one request and returns the `data` of the answer, or its bytes as a `Blob`.
 * @throws ApiError for every failure but `signal`.
 */
export type SendRequest = <T>(request: ApiRequest) => Promise<T>;

const defaultTimeoutMs = 20_000;

/** Sends to the origin that served the panel. */
export function createSendRequest(): SendRequest {
  return async <T>({
    method,
    path,
    body,
    headers,
    as,
    timeoutMs = defaultTimeoutMs,
    signal,
  }: ApiRequest): Promise<T> => {
    const response = await fetchOrThrow(path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: signal ? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) : AbortSignal.timeout(timeoutMs),
    });
    if (as === 'blob' && response.ok) return (await response.blob()) as T;
    const answer = await readObject(response);
    if (response.ok && answer?.success === true) return answer.data as T;
    const message = typeof answer?.message === 'string' ? answer.message : response.statusText;
    const said = readSentence(answer ?? {});
    throw new ApiError({
      ...said,
      status: response.status,
      code: typeof answer?.code === 'string' ? answer.code : 'UNREADABLE',
      message,
      requestId: response.headers.get('x-request-id'),
      retryAfter: readRetryAfter(response.headers.get('retry-after')),
      fieldErrors: readFieldErrors(answer?.details, { ...said, message }),
      details: answer?.details,
    });
  };
}

async function fetchOrThrow(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new ApiError({
      status: 0,
      code: 'UNREACHABLE',
      message: cause instanceof Error ? cause.message : 'No answer',
    });
  }
}

async function readObject(response: Response): Promise<Record<string, unknown> | null> {
  try {
    const value: unknown = await response.json();
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function readRetryAfter(value: string | null): number | null {
  const seconds = Number(value ?? '');
  return value !== null && Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : null;
}
