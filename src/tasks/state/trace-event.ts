import type { Logger } from '../../kernel/index.ts';

/** What happens to a task, in the order in which it happens, and how the debug log says it. */
const SENTENCES = {
  route_match: "a request is for a plugin's own route",
  protocol_pin: 'a request of a protocol is for this plugin',
  channel_choice: 'a channel was chosen',
  reservation: 'the price is reserved and the task is stored',
  submit_start: 'the vendor is asked to take the task',
  submit_end: 'the vendor has answered',
  parse: 'the plugin has read the answer',
  persist: 'the accepted task is stored',
  poll_claim: 'a due task was claimed',
  poll_result: 'what the vendor says of a task',
  settlement: 'a task has ended and is billed',
  observation_start: 'a client looks on',
  observation_end: 'a client looks on no longer',
  artifact_request: 'an artifact is fetched for a client',
};

/**
 * A line of the debug log, marked `task_plugin`; work that no request asked for is that of
 * `SYSTEM`.
 */
export function traceEvent(
  logger: Logger,
  event: keyof typeof SENTENCES,
  requestId: string | undefined,
  fields: Record<string, string | number | boolean | undefined>,
): void {
  logger.debug({ task_plugin: event, request_id: requestId ?? 'SYSTEM', ...fields }, SENTENCES[event]);
}
