import type { TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';

/** What came of one webhook. `fault`: why nothing was sent. */
export type SendTestWebhook = (receiver: {
  url: string;
  secret: string;
}) => Promise<
  { fault: string } | { delivered: boolean; delivery: { httpStatus: number; durationMs: number; error: string } }
>;

/** Sends a signed webhook of the type `test` to the operator's receiver. */
export async function tryOperatorWebhook(
  send: SendTestWebhook,
  receiver: { url: string; secret: string },
): Promise<TrialResult> {
  const steps = recordSteps();
  const sent = await send(receiver);
  if ('fault' in sent) return steps.fail('address', sent.fault);
  steps.pass('address', 'The address may be called.');
  const { httpStatus, durationMs, error } = sent.delivery;
  if (httpStatus === 0) return steps.fail('send', `No answer came: ${error}.`);
  const answer = `The receiver answered ${httpStatus} after ${durationMs} ms`;
  if (!sent.delivered) return steps.fail('send', `${answer}; any status from 200 to 299 counts as delivered.`);
  steps.pass('send', `${answer}.`);
  return steps.end();
}
