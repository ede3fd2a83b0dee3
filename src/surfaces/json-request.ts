import type { ExtractedFiles } from '../files/index.ts';
import { type Json, sha256Hex } from '../kernel/index.ts';
import { type BodyDigests, type ClientRequest, digestJson } from '../tasks/index.ts';

/** What may accompany a JSON body. */
export type RequestOptions = Pick<ClientRequest, 'idempotencyKey' | 'signal'> & {
  /** Files that were extracted from the body. */
  files?: ExtractedFiles | undefined;
  /** Digests of the body as sent, with its files; default: of the JSON itself. */
  digests?: BodyDigests | undefined;
};

/** Builds a `ClientRequest` from JSON that has already been read, such as the panel's. */
export const jsonRequest = async (
  path: string,
  value: Json,
  { idempotencyKey, signal, files, digests }: RequestOptions = {},
): Promise<ClientRequest> => ({
  method: 'POST',
  path,
  params: {},
  query: {},
  contentType: 'application/json',
  accept: 'application/json',
  body: { kind: 'json', value, ...(files ? { extracted: files } : {}) },
  ...(typeof idempotencyKey === 'string'
    ? { idempotencyKey, digests: await digestRequest(value, { files, digests }) }
    : {}),
  ...(signal ? { signal } : {}),
  release: async () => {},
});

/** With files, the JSON itself is of no use: their tokens are random for each request. */
async function digestRequest(value: Json, { files, digests }: RequestOptions): Promise<BodyDigests> {
  if (files && digests) return digests;
  const text = JSON.stringify(value);
  return { raw: sha256Hex(text), meaning: digests?.meaning ?? (await digestJson(text)) };
}
