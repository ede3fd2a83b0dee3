import { sliceChunks } from '../../kernel/index.ts';
import type { ChannelRecord, RelayRecord } from '../../store/ports/index.ts';
import type { UpstreamResponse } from '../../upstream/index.ts';
import { taskErrors } from '../errors.ts';
import { ENDPOINTS, keepsObject } from './endpoints.ts';
import { readsReport } from './estimate-usage.ts';
import { mediaTypeOf, redactKey, streamThrough, vendorHeaders } from './relay-answers.ts';
import { billRelay } from './relay-billing.ts';
import { removeUsageEvent } from './remove-usage-event.ts';
import { tapUsage, type UsageTap } from './tap-usage.ts';
import type { RelayAnswer, RelayDeps, RelayedRequest, RelayIntent } from './types.ts';
import { createVendorIdFinder, findVendorIds, storeVendorIds } from './vendor-ids.ts';

type Delivery = {
  request: RelayedRequest;
  intent: RelayIntent;
  channel: ChannelRecord;
  relay: RelayRecord;
  response: UpstreamResponse;
  /** Frees the client's slot. */
  onStreamEnd: () => void;
  /** Ends the lease of the request, once its bill is written and its answer read. */
  release: () => Promise<void>;
};

const NO_USAGE = 'the vendor reported no usage';

/**
 * Bills the request, forwards the answer and stores the ids in it. A request whose price reads the
 * vendor's usage is billed once the answer has ended in any way: by what the vendor reported, else
 * by what came of a stream, else by the reservation, but with nothing for an answer without result.
 * Any other is billed before the client gets a part of its answer.
 */
export async function deliverAnswer(deps: RelayDeps, delivery: Delivery): Promise<RelayAnswer> {
  const { request, channel, relay, response, onStreamEnd, release } = delivery;
  const { status } = response;
  const { signal } = request.client;
  const { expression } = relay.billing;
  const factKeys = expression === null ? [] : deps.billing.prices.factKeysOf(expression);
  const isMetered = readsReport(ENDPOINTS[relay.kind], factKeys);
  const isEvents = mediaTypeOf(response) === 'text/event-stream';
  const isBytes = !isEvents && ENDPOINTS[relay.kind].streams === 'bytes';
  if (!isEvents && !isBytes)
    return deliverWhole(deps, delivery, isMetered ? tapUsage(relay.kind, { isEvents }) : undefined);

  if (!isMetered) {
    try {
      await billRelay(deps, relay, { httpStatus: status });
    } catch (error) {
      response.discard();
      throw error;
    }
  }
  const tap = isMetered && isEvents ? tapUsage(relay.kind, { isEvents }) : undefined;
  const find = isEvents && keepsObject(relay.kind) ? createVendorIdFinder(relay.kind) : undefined;
  const end = once(async () => {
    onStreamEnd();
    // Without a bill the lease expires, and the request is refunded.
    if (isMetered) await billRelay(deps, relay, billOf(delivery, tap, { isWhole: false })).catch(() => undefined);
    await release();
  });
  const body = streamThrough(response.stream(), {
    signal,
    onEnd: () => deps.settlements.track(end()),
    onChunk: async (chunk) => {
      tap?.push(chunk);
      if (find) await storeVendorIds(deps, { relay, channel, ids: find(chunk) });
    },
    filter: isEvents && delivery.intent.hidesUsage ? removeUsageEvent() : undefined,
  });
  return { status, headers: vendorHeaders(response, { whole: false }), body, replayed: false };
}

/**
 * Reads the whole answer before it bills: one that breaks off reaches the client as a failure of
 * ours, and is refunded.
 */
async function deliverWhole(deps: RelayDeps, delivery: Delivery, tap: UsageTap | undefined): Promise<RelayAnswer> {
  const { channel, relay, response } = delivery;
  const { status } = response;
  const body = await response.bytes();
  if (!body.ok) throw taskErrors.vendor_failed({ message: body.error.message });
  const key = deps.channels.credential(channel);
  if (tap) for await (const slice of sliceChunks([body.value])) tap.push(slice);
  await billRelay(deps, relay, tap ? billOf(delivery, tap, { isWhole: true }) : { httpStatus: status });
  if (keepsObject(relay.kind)) {
    const ids = await findVendorIds(relay.kind, body.value);
    if (!ids.some(({ kind }) => kind === relay.kind)) {
      const logFields = { relay_id: relay.relayId, channel_id: channel.id };
      deps.logger.warn(logFields, "vendor's answer has no object id; the object cannot be retrieved");
    }
    await storeVendorIds(deps, { relay, channel, ids });
  }
  const redacted = redactKey(body.value, key);
  return { status, headers: vendorHeaders(response, { whole: true }), body: redacted, replayed: false };
}

/**
 * A stream without usage is billed by what came of it, and a whole answer without result by
 * nothing. A background response goes on at the vendor.
 */
function billOf(
  { intent, response }: Delivery,
  tap: UsageTap | undefined,
  { isWhole }: { isWhole: boolean },
): Parameters<typeof billRelay>[2] {
  const httpStatus = response.status;
  const { facts, isReported, hasResult } = tap?.end() ?? { facts: {}, isReported: false, hasResult: true };
  const goesOn = intent.values.background === true;
  const { reports, answers } = ENDPOINTS[intent.kind];
  if (isWhole && !goesOn && !isReported && !hasResult && !answers?.test(mediaTypeOf(response))) {
    return { httpStatus, usage: Object.fromEntries(reports.map((fact) => [fact, 0])) };
  }
  const isCounted = !isWhole && !goesOn;
  return tap && (isReported || isCounted) ? { httpStatus, usage: facts } : { httpStatus, trouble: NO_USAGE };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let started: Promise<void> | undefined;
  return () => {
    started ??= work();
    return started;
  };
}
