import { isJsonType, sliceChunks } from '../../kernel/index.ts';
import { taskErrors } from '../../tasks/index.ts';
import { MAX_ANSWER_BYTES, readMediaEssence, redactKey, vendorHeaders } from '../answers/filter-answer.ts';
import { watchForFailure } from '../answers/watch-for-failure.ts';
import { ENDPOINTS, keepsObject } from '../endpoints.ts';
import { relayErrors } from '../errors.ts';
import { completeVideo, type KnownVideo, readRequestedVideo } from '../objects/complete-video.ts';
import { describeVideo } from '../objects/describe-relay.ts';
import { findVendorIds, storeVendorIds } from '../objects/vendor-ids.ts';
import { estimateSpokenSeconds } from '../sound/estimate-spoken-seconds.ts';
import type { Delivery, RelayAnswer, RelayDeps } from '../types.ts';
import { calculateBill, requestsReasoning } from '../usage/calculate-bill.ts';
import { createUsageReader, type UsageReader } from '../usage/read-usage.ts';
import { refundFailedJob } from '../usage/refund-relay.ts';
import { billRelay } from '../usage/reserve-and-bill.ts';
import { deliverStream } from './deliver-stream.ts';
import { mayAskAgain, storeAnswer } from './kept-answers.ts';

/**
 * Bills the request, forwards the answer and stores the ids in it. How it is read and billed
 * depends on what came, and not on what the client asked for. A request whose price reads the
 * vendor's usage is billed once the answer has ended in any way: by what the vendor reported, else
 * by what came of a stream, else by the reservation, but with nothing for an answer without result.
 * Any other is billed before the client gets a part of its answer, unless its reservation is held
 * in memory.
 */
export async function deliverAnswer(deps: RelayDeps, delivery: Delivery): Promise<RelayAnswer> {
  const { intent, relay, response } = delivery;
  const { reports, streams } = ENDPOINTS[relay.kind];
  const { expression } = relay.billing;
  const factKeys = expression === null ? [] : deps.billing.prices.listFactKeys(expression);
  const needed = reports.filter((fact) => factKeys.includes(fact));
  const isEvents = readMediaEssence(response) === 'text/event-stream';
  const thinks = requestsReasoning(intent);
  const usageReader = needed.length > 0 ? createUsageReader(relay.kind, { isEvents, needed, thinks }) : undefined;
  const isStream = isEvents || (streams === 'bytes' && !isJsonType(readMediaEssence(response)));
  if (isStream && intent.isFollowed) {
    response.discard();
    const message = 'The vendor answered with a stream, which cannot be kept for a client that does not wait.';
    throw taskErrors.vendor_failed({ message });
  }
  return isStream
    ? deliverStream(deps, delivery, { usageReader, isEvents })
    : deliverWhole(deps, delivery, usageReader);
}

/**
 * Reads the whole answer before it bills: one that breaks off reaches the client as a failure of
 * ours, and is refunded.
 */
async function deliverWhole(
  deps: RelayDeps,
  delivery: Delivery,
  usageReader: UsageReader | undefined,
): Promise<RelayAnswer> {
  const { account, relay, response, request, intent } = delivery;
  const { status } = response;
  const body = await response.bytes(MAX_ANSWER_BYTES);
  if (!body.ok) throw taskErrors.vendor_failed({ message: body.error.message });
  await usageReader?.readAnswer(body.value);
  const spokenSeconds = usageReader && relay.kind === 'transcription' ? estimateSpokenSeconds(body.value) : 0;
  const bill = usageReader
    ? calculateBill(deps, delivery, { usageReader, how: 'whole', spokenSeconds })
    : { httpStatus: status };
  const redacted = redactKey(body.value, deps.vendors.channels.secrets(account));
  const kept = mayAskAgain(deps.node, request.client, intent) ? await storeAnswer(deps, delivery, redacted) : undefined;
  // An answer that cannot reach its client costs nothing.
  if (intent.isFollowed && !kept) throw relayErrors.answer_not_kept({ shouldRetry: false });
  const billed = billRelay(deps, relay, { ...bill, kept, mustBeKept: intent.isFollowed });
  // The answer of what is held in memory waits for no write.
  if (relay.hold) deps.shared.settlements.track(billed);
  else await billed;
  const video = relay.kind === 'video' ? readRequestedVideo(intent, request) : undefined;
  if (keepsObject(relay.kind)) {
    const ids = await findVendorIds(relay.kind, body.value);
    if (!ids.some(({ kind }) => kind === relay.kind)) {
      const logFields = { relay_id: relay.relayId, channel_id: account.channel.id };
      deps.logger.warn(logFields, "vendor's answer has no object id; the object cannot be retrieved");
    }
    await storeVendorIds(deps, { relay, account, ids, ...(video && { video }) });
    const watch = watchForFailure({ isEvents: false });
    for await (const slice of sliceChunks([body.value])) watch.push(slice);
    if (!usageReader && watch.hasFailed()) await refundFailedJob(deps, relay.relayId);
  }
  const sent = video ? completeVideo(redacted, await describePaid(deps, { ...relay, video })) : redacted;
  return { status, headers: vendorHeaders(response, { whole: true }), body: sent, replayed: false };
}

/** What the gateway knows of a paid video; without cost and link if the store fails. */
async function describePaid(deps: RelayDeps, video: Parameters<typeof describeVideo>[1]): Promise<KnownVideo> {
  try {
    return await describeVideo(deps, video);
  } catch (error) {
    const logFields = { err: error, relay_id: video.relayId };
    deps.logger.error(logFields, 'paid video is sent without its cost and link: the store failed');
    return { asked: video.video, createdAt: video.createdAt };
  }
}
