/** Passes a vendor's stream on, and reads on for the bill after its client has left. */

import type { AnswerEnd } from '../types.ts';

/** Sees the bytes that pass, and may change them. */
export type Transfer = {
  /** Returns what the client gets of the chunk. */
  push(chunk: Uint8Array): Promise<Uint8Array>;
  /** Called once, at the end of the stream. */
  end(): Promise<Uint8Array | undefined>;
};

/** How far a stream is read whose client has left. */
export type ReadOn = {
  until: AbortSignal;
  /** Called before each read, with the bytes of the one before. */
  wantsMore(bytes: number): boolean;
  end(): void;
};

type Streaming = {
  /** Aborted when the client leaves. */
  signal: AbortSignal | undefined;
  /** Called once, as soon as nothing more is read: frees the client's slot. */
  onStop: () => void;
  /** Called once after it, with all that was read. The client waits for it. */
  onEnd?: (how: AnswerEnd) => Promise<void>;
  transfer?: Transfer | undefined;
  /** Asked when the client leaves; undefined: the vendor's connection is closed then. */
  readOn?: (() => ReadOn | undefined) | undefined;
  /** Called with work that goes on without the client. */
  track?: (work: Promise<unknown>) => void;
};

/** Streams the vendor's bytes to the client as they come; nothing is read ahead of the client. */
export function streamThrough(
  source: ReadableStream<Uint8Array>,
  { signal, onStop, onEnd, transfer, readOn = () => undefined, track = () => {} }: Streaming,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let client: ReadableStreamDefaultController<Uint8Array> | undefined;
  let ending: Promise<Uint8Array | undefined> | undefined;
  let pulling = Promise.resolve();
  let hasLeft = false;
  let isCut = false;

  /** Reads the next chunk and returns its size and what the client gets of it. */
  async function read(): Promise<{ size: number; passed: Uint8Array } | undefined> {
    const { done, value } = await reader.read();
    if (done) return undefined;
    const size = value.byteLength;
    return { size, passed: transfer ? await transfer.push(value) : value };
  }
  function end(how: AnswerEnd): Promise<Uint8Array | undefined> {
    ending ??= (async () => {
      signal?.removeEventListener('abort', leave);
      onStop();
      const rest = await transfer?.end();
      await onEnd?.(isCut ? 'cut' : how);
      return rest;
    })();
    track(ending);
    return ending;
  }
  function cut(): void {
    isCut = true;
    void reader.cancel().catch(() => undefined);
  }

  async function readRest(limits: ReadOn): Promise<void> {
    if (limits.until.aborted) cut();
    else limits.until.addEventListener('abort', cut, { once: true });
    let how: AnswerEnd = 'cut';
    try {
      await pulling;
      for (let size = 0; !ending && !isCut && limits.wantsMore(size); ) {
        const chunk = await read();
        if (!chunk) {
          how = 'ended';
          break;
        }
        ({ size } = chunk);
      }
      limits.until.removeEventListener('abort', cut);
      if (how === 'cut') cut();
    } catch {
      how = 'broke';
    }
    limits.end();
    await end(how);
  }
  function leave(): void {
    if (hasLeft || ending) return;
    hasLeft = true;
    const limits = readOn();
    if (limits) track(readRest(limits));
    else {
      cut();
      // `track` is told of a failure.
      end('cut').catch(() => undefined);
    }
    try {
      client?.close();
    } catch {
      // A client that cancelled has closed it already.
    }
  }
  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const chunk = await read();
        if (hasLeft) return;
        if (!chunk) break;
        if (chunk.passed.length > 0) return controller.enqueue(chunk.passed);
      }
      const rest = await end('ended');
      if (hasLeft) return;
      if (rest && rest.length > 0) controller.enqueue(rest);
      controller.close();
    } catch (error) {
      await end('broke');
      if (!hasLeft) throw error;
    }
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        client = controller;
      },
      pull(controller) {
        const pulled = pull(controller);
        pulling = pulled.catch(() => undefined);
        return pulled;
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
  if (signal?.aborted) leave();
  else signal?.addEventListener('abort', leave, { once: true });
  return body;
}
