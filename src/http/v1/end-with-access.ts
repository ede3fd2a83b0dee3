import type { AccessWatch } from '../../auth/index.ts';
import { accessEnded } from './send-events.ts';

/** The last of a vendor's stream: an empty line first, for what of an event has been sent already. */
const LAST = `\n\nevent: error\ndata: ${JSON.stringify({ ...accessEnded().error, type: 'error' })}\n\n`;

/** A vendor's stream of events, which ends with an error event when its client may not go on. */
export function endWithAccess(body: ReadableStream<Uint8Array>, access: AccessWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const { promise: ended, resolve } = Promise.withResolvers<'ended'>();
  const onAbort = (): void => {
    if (access.hasEnded()) resolve('ended');
  };
  if (access.signal.aborted) onAbort();
  else access.signal.addEventListener('abort', onAbort, { once: true });
  const leave = (): void => {
    access.stop();
    void reader.cancel().catch(() => undefined);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const step = await Promise.race([ended, reader.read()]);
          if (step !== 'ended' && !step.done) return controller.enqueue(step.value);
          leave();
          if (access.hasEnded()) controller.enqueue(new TextEncoder().encode(LAST));
          controller.close();
        } catch (error) {
          access.stop();
          throw error;
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}
