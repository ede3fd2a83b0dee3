import { err, ok, quoted } from '../../src/kernel/index.ts';
import type { Upstream, UpstreamFailure, UpstreamRequest, UpstreamResponse } from '../../src/upstream/index.ts';
import type { Faults } from './faults.ts';
import { afterOn, type Machine } from './machine-clock.ts';
import { never, type ProcessLife } from './process-life.ts';
import type { World } from './world.ts';

/** A request as it arrives at a host. `from`: the process that sent it. */
export type WireRequest = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
  from: ProcessLife;
};
export type WireAnswer = {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** How long after the request came it is sent. */
  afterMs?: number;
  /** The connection breaks within the body. */
  breaks?: boolean;
  /** Called when the gateway has its headers. */
  onHeaders?: () => void;
  /** Called when the gateway has the whole answer, or what came of it. */
  onSeen?: () => void;
  /** Sent instead of the body. */
  stream?: WireStream;
};
/** Events that come one after the other; `breaks`: then the connection does. */
type WireStream = {
  events: readonly string[];
  everyMs: number;
  breaks: boolean;
  /** Told how many events the gateway has read. */
  onRead(count: number): void;
  /** `cut`: the gateway reads no more. */
  onEnd(how: 'ended' | 'broke' | 'cut'): void;
};
/** A host. It acts when the request arrives, whatever becomes of its answer. */
export type Site = (request: WireRequest) => WireAnswer;

/** A request that a process has sent, or tried to send, and when it knew what became of it. */
export type Exchange = { by: string; method: string; url: string; beginMs: number; endMs: number };

type Place = { world: World; machine: Machine; life: ProcessLife; faults: Faults };

const failure = (kind: UpstreamFailure['kind'], notSent: boolean): UpstreamFailure => ({
  kind,
  notSent,
  ...quoted(`simulated: ${kind}`),
});

/** What one process reaches of the hosts. Answers take time, and some never come. */
export function createNetwork(
  place: Place,
  { sites, exchanges }: { sites: ReadonlyMap<string, Site>; exchanges: Exchange[] },
): Upstream {
  const { world, life, faults } = place;
  const random = world.random.fork();

  return {
    async request(request) {
      await life.pass(`before ${request.method} ${request.url}`);
      if (!life.isAlive()) return never();
      if (request.signal?.aborted) return err(failure('aborted', true));
      return new Promise((resolve) => {
        const cancels: (() => void)[] = [];
        const { method, url } = request;
        const exchange = { by: life.name, method, url, beginMs: world.nowMs(), endMs: Number.POSITIVE_INFINITY };
        exchanges.push(exchange);
        void life.died.then(() => {
          exchange.endMs = Math.min(exchange.endMs, world.nowMs());
        });
        const end = (outcome: UpstreamFailure | UpstreamResponse): void => {
          for (const cancel of cancels) cancel();
          exchange.endMs = world.nowMs();
          request.signal?.removeEventListener('abort', onAbort);
          void life.pass(`after ${request.method} ${request.url}`).then(() => {
            resolve('kind' in outcome ? err(outcome) : ok(outcome));
          });
        };
        let sent = false;
        const onAbort = () => end(failure('aborted', !sent));
        request.signal?.addEventListener('abort', onAbort, { once: true });
        const later = (ms: number, act: () => void) => cancels.push(afterOn(place, ms, act));

        if (faults.draw('unreachable')) return later(random.between(1, 500), () => end(failure('connect', true)));
        sent = true;
        later(request.headersTimeoutMs, () => end(failure('timeout', false)));
        if (faults.draw('requestLost')) {
          if (random.chance(0.5)) later(random.between(1, 5000), () => end(failure('broken', false)));
          return;
        }
        const upMs = random.between(1, 80);
        const downMs = faults.draw('slow') ? random.between(1000, 120_000) : random.between(1, 80);
        const isLost = faults.draw('answerLost');
        // On its way nothing that happens to the process changes what the host does.
        world.after(upMs, () => {
          const answer = findSite(sites, request)({ ...readWire(request), from: life });
          const inMs = downMs + (answer.afterMs ?? 0);
          if (!isLost) later(inMs, () => end(respond(place, request, answer)));
          else if (random.chance(0.5)) later(inMs, () => end(failure('broken', false)));
        });
      });
    },
    async close() {},
  };
}

function findSite(sites: ReadonlyMap<string, Site>, { url }: UpstreamRequest): Site {
  const site = sites.get(new URL(url).host);
  if (!site) throw new Error(`The simulation has no host ${url}.`);
  return site;
}

function readWire({ method, url, headers, body }: UpstreamRequest): Omit<WireRequest, 'from'> {
  if (body.kind === 'multipart') throw new Error('The simulation reads no multipart bodies.');
  const text = body.kind === 'text' ? body.text : body.kind === 'pieces' ? body.pieces.join('') : '';
  return { method, url: new URL(url), headers, body: text };
}

function respond(place: Place, { url }: UpstreamRequest, answer: WireAnswer): UpstreamResponse {
  answer.onHeaders?.();
  const bytes = new TextEncoder().encode(answer.body);
  const headers = Object.entries(answer.headers ?? {}).map(([name, value]) => [name, [value]] as const);
  const see = () => {
    answer.onSeen?.();
    return bytes;
  };
  return {
    status: answer.status,
    headers: { 'content-type': ['application/json'], ...Object.fromEntries(headers) },
    url,
    async bytes() {
      const seen = see();
      return answer.breaks ? err(failure('broken', false)) : ok(seen);
    },
    text: async () => ok(new TextDecoder().decode(see())),
    stream(onEnd) {
      if (answer.stream) return openStream(place, answer.stream);
      see();
      let isRead = false;
      return new ReadableStream({
        pull(controller) {
          if (!isRead) controller.enqueue(bytes);
          else {
            controller.close();
            onEnd?.();
          }
          isRead = true;
        },
        cancel: () => onEnd?.(),
      });
    },
    peek: async () => bytes,
    discard() {},
  };
}

/** Nothing comes before it is asked for. */
function openStream(place: Place, { events, everyMs, breaks, onRead, onEnd }: WireStream): ReadableStream<Uint8Array> {
  let read = 0;
  let isCut = false;
  let cancel = (): void => {};
  return new ReadableStream(
    {
      async pull(controller) {
        await place.life.pass('within a stream');
        await new Promise<void>((resolve) => {
          const next = (): void => {
            if (isCut) return;
            const event = events[read];
            read += 1;
            if (event !== undefined) {
              onRead(read);
              controller.enqueue(new TextEncoder().encode(event));
            } else if (breaks) {
              onEnd('broke');
              controller.error(new Error('simulated: the connection broke'));
            } else {
              onEnd('ended');
              controller.close();
            }
            resolve();
          };
          cancel = afterOn(place, everyMs, next);
        });
      },
      cancel() {
        isCut = true;
        cancel();
        onEnd('cut');
      },
    },
    { highWaterMark: 0 },
  );
}
