import { storeErrors } from '../../errors.ts';
import { MARKER, nameOf } from '../folder-marker.ts';
import { type Bucket, openBucket } from './call-bucket.ts';
import { expectAnswer } from './expect-answer.ts';

/** A marker has 25 bytes; whatever is longer is none of ours. */
const MAX_BYTES = 100;
const READ_ATTEMPTS = 2;

/** The object that names a bucket, as the marker of a folder does. */
export type BucketMarker = {
  /** Undefined: there is none. Empty: there is something else in its place. */
  read(signal?: AbortSignal): Promise<string | undefined>;
  /** Writes it unless it is there, as far as the server can tell. Who reads it then knows. */
  place(name: string): Promise<void>;
  replace(name: string): Promise<void>;
};

/** All rejects with `store.results_unavailable`. */
export function createBucketMarker(access: Parameters<typeof openBucket>[0]): BucketMarker {
  const bucket: Bucket = openBucket(access);
  const { sse } = access.place;

  const write = (name: string, condition: Record<string, string>) => {
    const encrypted: Record<string, string> = sse === '' ? {} : { 'x-amz-server-side-encryption': sse };
    const headers = { 'content-type': 'text/plain', ...encrypted, ...condition };
    return bucket.call({ method: 'PUT', key: MARKER, headers, body: `${name}\n` });
  };

  async function read(signal?: AbortSignal): Promise<string | undefined> {
    const found = await bucket.call({
      ...{ method: 'GET', key: MARKER, attempts: READ_ATTEMPTS },
      ...(signal ? { signal } : {}),
    });
    if (!found.ok && found.error.code === 'NoSuchKey') return undefined;
    const answer = expectAnswer(found, unavailable);
    if (Number(answer.headers['content-length']?.[0] ?? Number.POSITIVE_INFINITY) > MAX_BYTES) {
      answer.discard();
      return '';
    }
    const bytes = await answer.bytes();
    if (!bytes.ok) throw unavailable(`the bucket broke off (${bytes.error.kind})`);
    return nameOf(Buffer.from(bytes.value).toString('utf8')) ?? '';
  }

  async function replace(name: string): Promise<void> {
    expectAnswer(await write(name, {}), unavailable).discard();
  }

  return {
    read,
    replace,
    async place(name) {
      const written = await write(name, { 'if-none-match': '*' });
      if (written.ok) return written.value.discard();
      const { status } = written.error;
      // Another node was first, or is writing it right now.
      if (status === 412 || status === 409) return;
      // The server does not know the condition.
      if (status !== 501 && status !== 400) throw unavailable(written.error.message);
      if ((await read()) === undefined) await replace(name);
    },
  };
}

const unavailable = (reason: string): Error =>
  storeErrors.results_unavailable({ cause: new Error(reason), retryAfterSeconds: 5 });
