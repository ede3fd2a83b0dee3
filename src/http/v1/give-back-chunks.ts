import { giveBack } from '../../kernel/index.ts';

/**
 * The same bytes for a response: when the listener asks for the next chunk it has copied the last one into its own buffers, so that one's
 * memory is given back.
 */
export function giveBackChunks(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let sent: Uint8Array | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (sent) giveBack(sent);
        const { done, value } = await reader.read();
        sent = value;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
