import type { AccessWatch } from '../../auth/index.ts';
import { accessEnded } from './send-events.ts';

/** The error event at the end. The empty line first ends an event that was sent only in part. */
const ACCESS_ENDED_EVENT = `\n\nevent: error\ndata: ${JSON.stringify({ ...accessEnded().error, type: 'error' })}\n\n`;

/**
 * Passes a vendor's stream of events on, and ends it with an error event when the client's access
 * ends, whether the client reads or not. `Promise.race` of each read against that end would keep
 * every chunk in memory: a promise that lives as long as the stream holds everything raced with it.
 */
export function endStreamWithAccess(body: ReadableStream<Uint8Array>, access: AccessWatch): ReadableStream<Uint8Array> {
  const { signal } = access;
  const reader = body.getReader();
  let output: ReadableStreamDefaultController<Uint8Array> | undefined;
  let hasEnded = false;

  /** Returns false if the stream had ended before. */
  function end(): boolean {
    if (hasEnded) return false;
    hasEnded = true;
    signal.removeEventListener('abort', onAbort);
    access.stop();
    void reader.cancel().catch(() => undefined);
    return true;
  }
  function onAbort(): void {
    // When the client leaves, it cancels the stream itself.
    if (!access.hasEnded() || !end() || !output) return;
    output.enqueue(new TextEncoder().encode(ACCESS_ENDED_EVENT));
    output.close();
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller;
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      },
      async pull(controller) {
        try {
          const step = await reader.read();
          if (hasEnded) return;
          if (!step.done) return controller.enqueue(step.value);
          if (end()) controller.close();
        } catch (error) {
          // After the end, a failure of the vendor's stream is of no interest.
          if (end()) throw error;
        }
      },
      cancel: () => void end(),
    },
    { highWaterMark: 0 },
  );
}
