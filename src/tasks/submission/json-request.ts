import { type Json, sha256Hex } from '../../kernel/index.ts';
import type { ClientRequest, ExtractedFiles } from '../types.ts';

/** What may accompany a JSON body. */
export type RequestOptions = Pick<ClientRequest, 'idempotencyKey' | 'signal'> & {
  /** Files that were extracted from the body, and the SHA-256 in hex of the body with them. */
  files?: { extracted: ExtractedFiles; bodySha256: string } | undefined;
};

/** Builds a `ClientRequest` from JSON that has already been read, such as the panel's. */
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
  // Not a hash of `value` when files were extracted: their tokens are random for each request.
  bodySha256: files?.bodySha256 ?? sha256Hex(JSON.stringify(value)),
  ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  ...(signal ? { signal } : {}),
  release: async () => {},
});
