import type { AccessWatch } from '../../auth/index.ts';
import { accessEnded } from './send-events.ts';

/**
 * The last of a vendor's stream: an empty line first, for what of an event has been sent already.
 */
const LAST = `\n\nevent: error\ndata: ${JSON.stringify({ ...accessEnded().error, type: 'error' })}\n\n`;

/**
 * A vendor's stream of events, which ends with an error event when its client may not go on,
 * whether the client reads or not. A race of each read against the end would keep every chunk in
 * memory: a promise that waits as long as the stream holds whatever was raced against it.
 */
export function endWithAccess(body: ReadableStream<Uint8Array>, access: AccessWatch): ReadableStream<Uint8Array> {
  const { signal } = access;
  const reader = body.getReader();
  let open: ReadableStreamDefaultController<Uint8Array> | undefined;
  let over = false;

  /** False: it was over already. */
  function end(): boolean {
    if (over) return false;
    over = true;
    signal.removeEventListener('abort', onAbort);
    access.stop();
    void reader.cancel().catch(() => undefined);
    return true;
  }
  function onAbort(): void {
    // A client that has left cancels the stream itself.
    if (!access.hasEnded() || !end() || !open) return;
    open.enqueue(new TextEncoder().encode(LAST));
    open.close();
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        open = controller;
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      },
      async pull(controller) {
        try {
          const step = await reader.read();
          if (over) return;
          if (!step.done) return controller.enqueue(step.value);
          if (end()) controller.close();
        } catch (error) {
          // Of a stream that is over already nobody needs to know that it broke.
          if (end()) throw error;
        }
      },
      cancel: () => void end(),
    },
    { highWaterMark: 0 },
  );
}
