import { deadlineSignal } from '../../kernel/index.ts';
import { decodedStream, findDecoder, readEncodings } from '../../upstream/index.ts';
import { MAX_ANSWER_BYTES, vendorHeaders } from '../answers/filter-answer.ts';
import { readEvents } from '../answers/read-events.ts';
import { type ReadOn, streamThrough, type Transfer } from '../answers/stream-through.ts';
import { watchForFailure } from '../answers/watch-for-failure.ts';
import { keepsObject } from '../endpoints.ts';
import { READ_TO_END_MS } from '../objects/call-stored-object.ts';
import { createVendorIdFinder, storeVendorIds } from '../objects/vendor-ids.ts';
import type { AnswerEnd, Delivery, RelayAnswer, RelayDeps } from '../types.ts';
import { removeUsageEvent } from '../usage/ask-for-usage.ts';
import { calculateBill, hidesReasoning, runsInBackground } from '../usage/calculate-bill.ts';
import { hasLargeFile } from '../usage/estimate-input-tokens.ts';
import { plausibleMaxima } from '../usage/estimate-reservation.ts';
import type { UsageReader } from '../usage/read-usage.ts';
import { refundFailedJob } from '../usage/refund-relay.ts';
import { billRelay } from '../usage/reserve-and-bill.ts';

/**
 * How long a stream is read after its client has left, for the usage that comes at its end. For a
 * model with hidden reasoning this limits each pause, not the whole time.
 */
const GRACE_MS = 5000;
/** This limit applies if something was sent, came or is being made that only the vendor counts. */
const READ_ON_MS = 300_000;
const MIN_WAIT_MS = 250;
/** Nobody speaks more text than this in a second, in any language. */
const TOKENS_PER_SECOND = 15;

type Stream = { usageReader: UsageReader | undefined; isEvents: boolean };

/**
 * Passes the stream on and bills it at its end. It holds a slot of the client until then. When the
 * client leaves before the usage came, the rest is read without it.
 * @throws tasks.rate_limit_exceeded when the client did not ask for a stream and has no slot left
 */
export async function deliverStream(
  deps: RelayDeps,
  delivery: Delivery,
  { usageReader, isEvents }: Stream,
): Promise<RelayAnswer> {
  const { request, intent, relay, response, release } = delivery;
  const { status } = response;
  const isMetered = usageReader !== undefined;
  let freeSlot = () => {};
  try {
    if (!intent.stream) freeSlot = deps.vendors.downloads.acquire(relay.userId, 'stream');
    if (!isMetered && !relay.hold) await billRelay(deps, relay, { httpStatus: status });
  } catch (error) {
    freeSlot();
    response.discard();
    throw error;
  }
  // Events are read, so they are decoded even though no encoding was asked for. Nothing can be read
  // from an unknown encoding.
  const encodings = isEvents ? readEncodings(response.headers['content-encoding']) : [];
  const decoder = findDecoder(encodings);
  const source = decoder ? decodedStream(response.stream(), decoder) : response.stream();
  const isReadable = isEvents && (decoder !== undefined || encodings.length === 0);
  const counted = isReadable ? usageReader : undefined;
  const body = streamThrough(source, {
    signal: request.client.signal,
    transfer: isReadable ? readWhilePassing(deps, delivery, usageReader) : undefined,
    readOn: counted && (() => readOnFor(deps, delivery, counted)),
    track: deps.shared.settlements.track,
    onStop() {
      freeSlot();
      delivery.onStreamEnd();
    },
    async onEnd(how: AnswerEnd) {
      try {
        const isSpoken = counted !== undefined && relay.kind === 'transcription';
        const spokenSeconds = isSpoken ? Math.ceil(counted.countedTokens() / TOKENS_PER_SECOND) : 0;
        const bill = isMetered
          ? calculateBill(deps, delivery, { usageReader: counted, how, spokenSeconds })
          : { httpStatus: status };
        if (relay.hold) deps.shared.settlements.track(billRelay(deps, relay, bill));
        else if (isMetered) await billRelay(deps, relay, bill);
      } catch {
        // Without a bill the lease expires, and the request is refunded.
        relay.hold?.end();
      }
      await release();
    },
  });
  return { status, headers: vendorHeaders(response, { whole: decoder !== undefined }), body, replayed: false };
}

/** Reads usage and ids from the events that pass, and takes out what is not for the client. */
function readWhilePassing(deps: RelayDeps, delivery: Delivery, usageReader: UsageReader | undefined): Transfer {
  const { account, relay, hidesUsage } = delivery;
  const ids = keepsObject(relay.kind) ? createVendorIdFinder(relay.kind) : undefined;
  const filter = hidesUsage ? removeUsageEvent() : undefined;
  /** A price that reads usage bills what came in any case. */
  const watch = ids && !usageReader ? watchForFailure({ isEvents: true }) : undefined;
  const events = readEvents([usageReader, ids, watch, filter].flatMap((reader) => (reader ? [reader.events] : [])));
  const storeIds = async () => {
    if (ids) await storeVendorIds(deps, { relay, account, ids: ids.take() });
  };
  return {
    async push(chunk) {
      const ends = events.push(chunk);
      await storeIds();
      return filter ? filter.push(chunk, ends) : chunk;
    },
    async end() {
      events.end();
      await storeIds();
      if (watch?.hasFailed()) await refundFailedJob(deps, relay.relayId);
      return filter?.end();
    },
  };
}

/**
 * How far a stream is read on whose client has left; undefined: the usage came already, or the
 * gateway stops. The client's slot, its node's and these bounds limit what it costs.
 */
function readOnFor(deps: RelayDeps, delivery: Delivery, usageReader: UsageReader): ReadOn | undefined {
  const { clock } = deps;
  if (usageReader.isSettled() || deps.shared.stopping.aborted) return undefined;
  const goesOn = runsInBackground(delivery.intent);
  const last = deadlineSignal(clock, goesOn ? READ_TO_END_MS : READ_ON_MS, deps.shared.stopping);
  const most = plausibleMaxima(delivery).output_tokens;
  const thinksUnseen = hidesReasoning(deps.shared, delivery);
  const { body } = delivery.request.client;
  const owesFile = hasLargeFile(delivery.intent.values, body.kind === 'json' ? body.extracted : undefined);
  let sinceMs = clock.monotonicMs();
  let bytes = 0;
  const isOver = () => clock.monotonicMs() - sinceMs >= GRACE_MS && !owesFile && !goesOn && !usageReader.owesCount();
  void (async () => {
    while (!last.signal.aborted && !isOver())
      await clock.sleep(Math.max(GRACE_MS - (clock.monotonicMs() - sinceMs), MIN_WAIT_MS), last.signal);
    last.end();
  })();
  return {
    until: last.signal,
    wantsMore(read) {
      bytes += read;
      if (thinksUnseen && read > 0) sinceMs = clock.monotonicMs();
      return bytes <= MAX_ANSWER_BYTES && usageReader.countedTokens() <= most && !usageReader.isSettled() && !isOver();
    },
    end: last.end,
  };
}
