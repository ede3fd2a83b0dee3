import type { Logger } from '../../kernel/index.ts';

/** The steps of a task in order, with the message of each in the debug log. */
const MESSAGES = {
  route_match: "request matched a plugin's own route",
  protocol_pin: 'protocol request assigned to a plugin',
  channel_choice: 'channel chosen',
  reservation: 'price reserved and task stored',
  submit_start: 'sending the submission to the vendor',
  submit_end: 'vendor answered the submission',
  parse: "plugin parsed the vendor's answer",
  persist: 'accepted task stored',
  poll_claim: 'due task claimed',
  poll_result: 'poll result',
  settlement: 'task ended and billed',
  observation_start: 'client started to observe a task',
  observation_end: 'client stopped observing a task',
  artifact_request: 'fetching an artifact for a client',
};

/**
 * Writes a debug line marked `task_plugin`. Background work, which has no request, is logged with
 * the request id `SYSTEM`.
 */
export function traceEvent(
  logger: Logger,
  event: keyof typeof MESSAGES,
  { request_id = 'SYSTEM', ...fields }: Record<string, string | number | boolean | undefined>,
): void {
  logger.debug({ task_plugin: event, request_id, ...fields }, MESSAGES[event]);
}
