import type { Faults } from './faults.ts';
import type { Site, WireAnswer, WireRequest } from './network.ts';
import type { PlannedRelay } from './plan-relays.ts';
import { nameAccount, readKey } from './vendor.ts';
import type { World } from './world.ts';

/** A request for an answer, and what the gateway has read of that. */
export type RelayArrival = {
  atMs: number;
  order: string;
  account: string;
  /** The process that sent it. */
  by: string;
  /** Whether the vendor did the work. */
  isDone: boolean;
  /** Its valid answer; undefined: it refused, or answered what is not an answer. */
  answer: 'whole' | 'stream' | undefined;
  /** When the vendor was done with it; infinite while it is not. */
  untilMs: number;
  /** Whether the gateway has its headers. */
  isReceived: boolean;
  readPieces: number;
  hasReadUsage: boolean;
  /** How the answer ended for the gateway, and when; undefined: it has not. */
  end: { how: 'ended' | 'broke' | 'cut'; atMs: number } | undefined;
};

type ChatVendor = { site: Site; readonly arrivals: readonly RelayArrival[] };

const NAME = /relay-\d+/;
/** A piece of text. It counts as one token. */
export const PIECE = 'abcd';
/** What stands in an image. */
export const drawImage = (order: string, index: number): string =>
  Buffer.from(`image ${index} of ${order}`).toString('base64');
/** How many times what the request allows is reported as too much. */
const TOO_MUCH = 10;

const event = (data: unknown): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

/** A vendor of chats and images in OpenAI's form, which fails as others do. */
export function createChatVendor(
  { world, faults }: { world: World; faults: Faults },
  findRelay: (name: string) => PlannedRelay | undefined,
): ChatVendor {
  const arrivals: RelayArrival[] = [];

  const refuse = (status: number): WireAnswer => ({ status, body: '{"error":{"message":"not now"}}' });

  function site({ url, headers, body, from }: WireRequest): WireAnswer {
    const relay = findRelay(NAME.exec(body)?.[0] ?? '');
    if (!relay) throw new Error(`The vendor of chats got a request that nobody sent: ${body}`);
    const atMs = world.nowMs();
    const arrival: RelayArrival = {
      ...{ atMs, order: relay.name, account: nameAccount(readKey(headers)), by: from.name, isDone: false },
      ...{ answer: undefined, untilMs: atMs, isReceived: false, readPieces: 0, hasReadUsage: false, end: undefined },
    };
    arrivals.push(arrival);
    const answer = answerTo(relay, arrival, JSON.parse(body));
    world.note(`vendor of chats to ${from.name}: ${url.pathname} ${relay.name} ${answer.status}`);
    return {
      ...answer,
      onHeaders() {
        arrival.isReceived = true;
      },
    };
  }

  function answerTo(relay: PlannedRelay, arrival: RelayArrival, given: Given): WireAnswer {
    if (relay.fate.refused) return refuse(400);
    if (faults.draw('busy')) return refuse(429);
    if (faults.draw('broken')) return refuse(500);
    arrival.isDone = true;
    if (faults.draw('brokenAfter')) return refuse(502);
    if (faults.draw('garbage')) return { status: 200, body: '<html>It works!</html>' };
    return given.stream === true ? stream(relay, arrival, given) : whole(relay, arrival);
  }

  const endWith = (arrival: RelayArrival, how: 'ended' | 'broke' | 'cut'): void => {
    arrival.end ??= { how, atMs: world.nowMs() };
    arrival.untilMs = Math.min(arrival.untilMs, world.nowMs());
  };

  function whole({ name, model, maxTokens, fate }: PlannedRelay, arrival: RelayArrival): WireAnswer {
    const { pieces, workMs, breaksAfter } = fate;
    const list = Array.from({ length: pieces }, (_, index) => ({ b64_json: drawImage(name, index) }));
    const message = { role: 'assistant', content: PIECE.repeat(pieces) };
    const usage = describeUsage(fate, maxTokens);
    const said =
      model === 'draw' ? { created: 1, data: list } : { choices: pieces > 0 ? [{ index: 0, message }] : [], ...usage };
    arrival.answer = 'whole';
    arrival.untilMs = arrival.atMs + workMs;
    const breaks = breaksAfter !== undefined;
    return {
      ...{ status: 200, body: JSON.stringify(said), afterMs: workMs, breaks },
      onSeen() {
        if (breaks) return endWith(arrival, 'broke');
        arrival.readPieces = pieces;
        endWith(arrival, 'ended');
      },
    };
  }

  function stream({ fate, maxTokens }: PlannedRelay, arrival: RelayArrival, given: Given): WireAnswer {
    const { pieces, tells, everyMs, workMs, breaksAfter } = fate;
    const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk' };
    const texts = Array.from({ length: pieces }, () =>
      event({ ...base, choices: [{ index: 0, delta: { content: PIECE } }] }),
    );
    const isAsked = given.stream_options?.include_usage === true && tells !== 'nothing';
    const usage = isAsked ? [event({ ...base, choices: [], ...describeUsage(fate, maxTokens) })] : [];
    const events = [...texts, ...usage, ...(tells === 'usage twice' ? usage : []), event('[DONE]')];
    arrival.answer = 'stream';
    arrival.untilMs = Number.POSITIVE_INFINITY;
    return {
      ...{ status: 200, headers: { 'content-type': 'text/event-stream' }, body: '', afterMs: workMs },
      stream: {
        ...{ events: events.slice(0, breaksAfter ?? events.length), everyMs },
        breaks: breaksAfter !== undefined && breaksAfter < events.length,
        onRead(count) {
          arrival.readPieces = Math.min(pieces, count);
          arrival.hasReadUsage = isAsked && count > pieces;
        },
        onEnd: (how) => endWith(arrival, how),
      },
    };
  }

  return { site, arrivals };
}

type Given = { stream?: boolean; stream_options?: { include_usage?: boolean } };

function describeUsage({ tells, used }: PlannedRelay['fate'], maxTokens = 0): { usage?: object } {
  if (tells === 'nothing') return {};
  const tokens = tells === 'too much' ? TOO_MUCH * maxTokens : used;
  return { usage: { prompt_tokens: 7, completion_tokens: tokens, total_tokens: 7 + tokens } };
}
