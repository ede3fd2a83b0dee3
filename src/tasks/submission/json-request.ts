import { type Json, sha256Hex } from '../../kernel/index.ts';
import type { ClientRequest, ExtractedFiles } from '../types.ts';

/** What else comes with a request. */
export type RequestOptions = Pick<ClientRequest, 'idempotencyKey' | 'signal'> & {
  /** Files that were taken out of the body, which was this before (SHA-256, in hex). */
  files?: { extracted: ExtractedFiles; bodySha256: string } | undefined;
};

/** A request of the panel's as the engine takes one: JSON that is here already. */
export const jsonRequest = (
  path: string,
  value: Json,
  { idempotencyKey, signal, files }: RequestOptions = {},
): ClientRequest => ({
  method: 'POST',
  path,
  params: {},
  query: {},
  contentType: 'application/json',
  accept: 'application/json',
  body: { kind: 'json', value, ...(files ? { extracted: files.extracted } : {}) },
  // Tokens are others each time.
  bodySha256: files?.bodySha256 ?? sha256Hex(JSON.stringify(value)),
  ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  ...(signal ? { signal } : {}),
  release: async () => {},
});
