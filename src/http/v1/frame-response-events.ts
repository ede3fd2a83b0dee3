import { accessEnded, type ServerEvent } from './send-events.ts';

/**
 * The events of a response as server-sent events. `lastEvent` is the error to send when the
 * client's access ends; it has the next sequence number.
 */
export function frameEvents(events: AsyncIterable<{ type: string; sequence_number: number }>) {
  let sequence = 0;
  async function* framed(): AsyncGenerator<ServerEvent, void, undefined> {
    for await (const data of events) {
      sequence = data.sequence_number + 1;
      yield { event: data.type, data };
    }
  }
  const lastEvent = (): ServerEvent => ({
    event: 'error',
    data: { ...accessEnded().error, type: 'error', sequence_number: sequence },
  });
  return { events: framed(), lastEvent };
}
