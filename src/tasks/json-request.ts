import { type Json, sha256Hex } from '../kernel/index.ts';
import type { ClientRequest } from './types.ts';

/** What else comes with a request. */
export type RequestManner = Pick<ClientRequest, 'idempotencyKey' | 'signal'>;

/** A request of the panel's as the engine takes one: JSON that is here already. */
export const jsonRequest = (
  path: string,
  value: Json,
  { idempotencyKey, signal }: RequestManner = {},
): ClientRequest => ({
  method: 'POST',
  path,
  params: {},
  query: {},
  contentType: 'application/json',
  accept: 'application/json',
  body: { kind: 'json', value },
  bodySha256: sha256Hex(JSON.stringify(value)),
  ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  ...(signal ? { signal } : {}),
  release: async () => {},
});
