import {
  AppError,
  type Clock,
  err,
  quoted,
  randomAlnum,
  type Sentence,
  SentenceError,
  sentence,
  toSentence,
} from '../../kernel/index.ts';
import { resultsUnavailable } from '../drivers/errors.ts';
import type { FileStore, Store } from '../ports/index.ts';
import { countMissing, FOLDER_OPTION, MARKER, readName, SAMPLE } from './guard-folder.ts';
import { type Bucket, expectAnswer, openBucket } from './s3/call-bucket.ts';

/** How long what was read of the marker counts, except for the pages of a sweep. */
const FRESH_MS = 60_000;
/** The home page waits no longer for a bucket. */
const GLANCE_MS = 5000;
const FOREIGN = sentence('place.bucket_foreign');

type Guarded = { marker: BucketMarker; store: Pick<Store, 'options' | 'results'> };
/** `unknown`: the bucket has no marker, or the database no name yet. */
type View = { state: 'own' | 'foreign' | 'unknown'; name: string | undefined; marked: string | undefined };

/**
 * Refuses a bucket that is another database's: its files would go as those that nothing needs, and
 * what is kept in it would go there. The first use of a bucket marks it with the name of the
 * database, which is also that of its folder. Files are served without a look at the marker.
 */
export function guardBucket(
  files: FileStore,
  { marker, store, clock }: Guarded & { clock: Pick<Clock, 'monotonicMs'> },
): FileStore {
  let ownUntilMs = 0;
  const isFresh = (untilMs: number): boolean => clock.monotonicMs() < untilMs;
  let glanced: { fault: Sentence | undefined; untilMs: number } | undefined;

  async function look(signal?: AbortSignal): Promise<View> {
    ownUntilMs = 0;
    const marked = await marker.read(signal);
    const name = await store.options.get(FOLDER_OPTION);
    const isUnknown = marked === undefined || (name === undefined && marked !== '');
    const state = isUnknown ? 'unknown' : marked === name ? 'own' : 'foreign';
    if (state === 'own') ownUntilMs = clock.monotonicMs() + FRESH_MS;
    glanced = { fault: state === 'foreign' ? FOREIGN : undefined, untilMs: clock.monotonicMs() + FRESH_MS };
    return { state, name, marked };
  }

  /** Marks a bucket that has no marker, or learns the name of a restored database's own. */
  async function prepare(): Promise<Sentence | undefined> {
    if (isFresh(ownUntilMs)) return undefined;
    const { state, name, marked } = await look();
    if (state !== 'unknown') return state === 'own' ? undefined : FOREIGN;
    // Another node may have been first, and has put files there.
    if (!(await isOurs(marked !== undefined))) return (await look()).state === 'own' ? undefined : FOREIGN;
    if (name === undefined) await store.options.putIfAbsent(FOLDER_OPTION, marked ?? randomAlnum(24));
    const kept = await store.options.get(FOLDER_OPTION);
    if (marked === undefined && kept !== undefined) await marker.write(kept);
    const after = await look();
    if (after.state === 'own') return undefined;
    return after.state === 'foreign' ? FOREIGN : sentence('place.bucket_unmarkable');
  }

  /**
   * A bucket with files belongs to the database that knows one of them, an empty one to its marker.
   */
  async function isOurs(isMarked: boolean): Promise<boolean> {
    const there = (await files.list('', SAMPLE)).map(({ sha256 }) => sha256);
    if (there.length === 0) return !isMarked;
    if ((await store.results.knownFiles(there)).length > 0) return true;
    const needed = (await store.results.files('', SAMPLE)).filter(({ refs }) => refs > 0);
    const sizes = await Promise.all(needed.map(({ sha256 }) => files.size(sha256)));
    return sizes.some((size) => size !== undefined);
  }

  /** Whether the bucket is the database's. Before its first use, nothing in it is. */
  async function isOwn(): Promise<boolean> {
    const { state } = await look();
    if (state === 'foreign') throw refuse(FOREIGN);
    return state === 'own';
  }

  return {
    ...files,
    async findFault() {
      if (glanced && isFresh(glanced.untilMs)) return glanced.fault;
      const signal = AbortSignal.timeout(GLANCE_MS);
      try {
        await look(signal);
      } catch (error) {
        // A bucket that does not answer shows in the copies that fail.
        if (!signal.aborted && !isUnavailable(error)) throw error;
        glanced = { fault: undefined, untilMs: clock.monotonicMs() + FRESH_MS };
      }
      return glanced?.fault;
    },
    async put(source, limit) {
      try {
        const fault = await prepare();
        if (fault) return err({ kind: 'unavailable', ...fault });
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        const { cause } = error;
        if (cause instanceof SentenceError) return err({ kind: 'unavailable', ...toSentence(cause) });
        return err({ kind: 'unavailable', ...quoted(cause instanceof Error ? cause.message : error.message) });
      }
      return files.put(source, limit);
    },
    async delete(sha256) {
      const fault = await prepare();
      if (fault !== undefined) throw refuse(fault);
      await files.delete(sha256);
    },
    list: async (after, limit) => ((await isOwn()) ? files.list(after, limit) : []),
    sweep: async (before) => ((await isOwn()) ? files.sweep(before) : 0),
  };
}

/** Makes this bucket the database's, whatever it contains, and counts the files that it lacks. */
export async function acceptBucket(files: FileStore, { marker, store }: Guarded): Promise<{ missing: number }> {
  await store.options.putIfAbsent(FOLDER_OPTION, randomAlnum(24));
  const name = await store.options.get(FOLDER_OPTION);
  if (name !== undefined && (await marker.read()) !== name) await marker.replace(name);
  return { missing: await countMissing(files, store) };
}

/** Somebody has to look at the bucket first. */
const refuse = (fault: Sentence): AppError => resultsUnavailable(fault, 60);

const isUnavailable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'store.results_unavailable';

/** A marker has 25 bytes; anything longer is not ours. */
const MAX_BYTES = 100;
const READ_ATTEMPTS = 2;

/** The object that names a bucket, as the marker of a folder does. */
export type BucketMarker = {
  /** Undefined: there is none. Empty: there is something else in its place. */
  read(signal?: AbortSignal): Promise<string | undefined>;
  /** Writes it unless it is there, as far as the server can tell. A read afterwards shows. */
  write(name: string): Promise<void>;
  replace(name: string): Promise<void>;
};

/** All rejects with `store.results_unavailable`. */
export function createBucketMarker(access: Parameters<typeof openBucket>[0]): BucketMarker {
  const bucket: Bucket = openBucket(access);
  const { sse } = access.location;

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
    const answer = expectAnswer(found, resultsUnavailable);
    if (Number(answer.headers['content-length']?.[0] ?? Number.POSITIVE_INFINITY) > MAX_BYTES) {
      answer.discard();
      return '';
    }
    const bytes = await answer.bytes();
    if (!bytes.ok) throw resultsUnavailable(`the bucket's response was cut off (${bytes.error.kind})`);
    return readName(Buffer.from(bytes.value).toString('utf8')) ?? '';
  }

  async function replace(name: string): Promise<void> {
    expectAnswer(await write(name, {}), resultsUnavailable).discard();
  }

  return {
    read,
    replace,
    async write(name) {
      const written = await write(name, { 'if-none-match': '*' });
      if (written.ok) return written.value.discard();
      const { status } = written.error;
      // Another node was first, or is writing it right now.
      if (status === 412 || status === 409) return;
      // The server does not know the condition.
      if (status !== 501 && status !== 400) throw resultsUnavailable(written.error.message);
      if ((await read()) === undefined) await replace(name);
    },
  };
}
