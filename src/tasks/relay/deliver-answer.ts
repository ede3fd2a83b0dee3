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
 * by what came of a stream, else by the reservation. Any other is billed before its answer.
 */
export async function deliverAnswer(deps: RelayDeps, delivery: Delivery): Promise<RelayAnswer> {
  const { request, channel, relay, response, onStreamEnd, release } = delivery;
  const { status } = response;
  const { signal } = request.client;
  const { expression } = relay.billing;
  const factKeys = expression === null ? [] : deps.billing.prices.factKeysOf(expression);
  const isMetered = readsReport(ENDPOINTS[relay.kind], factKeys);
  if (!isMetered) {
    try {
      await billRelay(deps, relay, { httpStatus: status });
    } catch (error) {
      response.discard();
      throw error;
    }
  }
  const isEvents = mediaTypeOf(response) === 'text/event-stream';
  const isBytes = !isEvents && ENDPOINTS[relay.kind].streams === 'bytes';
  if (!isEvents && !isBytes)
    return deliverWhole(deps, delivery, isMetered ? tapUsage(relay.kind, { isEvents }) : undefined);

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

async function deliverWhole(deps: RelayDeps, delivery: Delivery, tap: UsageTap | undefined): Promise<RelayAnswer> {
  const { channel, relay, response } = delivery;
  const { status } = response;
  const body = await response.bytes();
  if (tap) {
    if (body.ok) for await (const slice of sliceChunks([body.value])) tap.push(slice);
    await billRelay(deps, relay, billOf(delivery, tap, { isWhole: body.ok }));
  }
  if (!body.ok) throw taskErrors.vendor_failed({ message: body.error.message });
  if (keepsObject(relay.kind)) {
    const ids = await findVendorIds(relay.kind, body.value);
    if (!ids.some(({ kind }) => kind === relay.kind)) {
      const logFields = { relay_id: relay.relayId, channel_id: channel.id };
      deps.logger.warn(logFields, "vendor's answer has no object id; the object cannot be retrieved");
    }
    await storeVendorIds(deps, { relay, channel, ids });
  }
  const redacted = redactKey(body.value, deps.channels.credential(channel));
  return { status, headers: vendorHeaders(response, { whole: true }), body: redacted, replayed: false };
}

/**
 * A stream without usage is billed by what came of it, and so is an answer that broke off: the
 * client got no more. A background response goes on at the vendor.
 */
function billOf(
  { intent, response }: Delivery,
  tap: UsageTap | undefined,
  { isWhole }: { isWhole: boolean },
): Parameters<typeof billRelay>[2] {
  const httpStatus = response.status;
  const { facts, isReported } = tap?.end() ?? { facts: {}, isReported: false };
  const isCounted = !isWhole && intent.values.background !== true;
  return tap && (isReported || isCounted) ? { httpStatus, usage: facts } : { httpStatus, trouble: NO_USAGE };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let started: Promise<void> | undefined;
  return () => {
    started ??= work();
    return started;
  };
}
