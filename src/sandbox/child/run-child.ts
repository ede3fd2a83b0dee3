/**
 * The entry of a child process. Loads the guest's engine and nothing else of the product, so that a
 * child stays small: `main.ts` imports this file before anything else of the gateway.
 */

import type { ForgetRequest, Hello, HookRequest, Reply, ReplyPart, RestRequest } from '../frames.ts';
import { confineProcess } from './confine-process.ts';
import { createGuestCache, type GuestCache } from './guest-cache.ts';
import { loadEngine } from './load-engine.ts';
import type { Answer } from './load-guest.ts';
import { createParentSocket, type ParentSocket } from './parent-socket.ts';
import { createPageRelease } from './release-unused-pages.ts';

/**
 * A batch ends early after this many ms, or once its results have this many bytes: calls
 * that are done must not wait for a slow one. The parent sends the others again.
 */
const MAX_BATCH_MS = 5;
const MAX_BATCH_BYTES = 65_536;

/** Serves hook calls from the socket, one at a time, until it closes. */
export async function runSandboxChild(): Promise<never> {
  const { setAlarm, filterCalls } = confineProcess();
  const monotonicMs = () => performance.now();
  const guests = createGuestCache(await loadEngine(), monotonicMs);
  const socket = createParentSocket();
  await warmUp(guests);
  const releasePages = createPageRelease();
  // Nothing is opened from here on, so code that escapes from a guest reaches nothing.
  const unfiltered = filterCalls();
  const hello: Hello = { ready: true, ...(unfiltered !== undefined && { unfiltered }) };
  socket.send(JSON.stringify(hello));
  // What runs from here on runs often: `main.ts` says why it did not begin so.
  Bun.unsafe.setJITPolicy(1);

  for (;;) {
    const { head, body } = socket.receive();
    const request = JSON.parse(head) as HookRequest | ForgetRequest | RestRequest;
    if ('forget' in request) {
      guests.forget(request.forget);
      continue;
    }
    if ('rest' in request) {
      Bun.gc(true);
      releasePages();
      continue;
    }
    const startedAt = monotonicMs();
    // The parent kills a guest that no deadline stops. The alarm does, should the parent hang or
    // die.
    setAlarm(Math.ceil(request.budgetMs / 1000) + 2);
    const answering = answerRequest({ guests, socket }, request, body);
    const answer = answering instanceof Promise ? await answering : answering;
    const ms = Math.round((monotonicMs() - startedAt) * 1000) / 1000;
    socket.send(JSON.stringify({ id: request.id, ms, ...answer }));
    setAlarm(0);
    guests.settle();
    const collecting = guests.collect(socket.takeGarbageBytes());
    if (collecting) await collecting;
  }
}

type Serving = { guests: GuestCache; socket: ParentSocket };
type ReplyHead = Omit<Reply, 'id' | 'ms'>;

/** Runs the call or calls of a request. Their results are the body of the next message. */
function answerRequest(
  { guests, socket }: Serving,
  request: HookRequest,
  body: Buffer,
): ReplyHead | Promise<ReplyHead> {
  const split = request.sourceLength ?? 0;
  const source = request.sourceLength === undefined ? undefined : body.toString('utf8', 0, split);
  const args = body.subarray(split);
  if (request.lengths) return runBatch({ guests, socket }, request, { source, args });
  const finish = (answer: Answer): ReplyHead => {
    socket.addToBody(answer.body);
    return answer.reply;
  };
  const running = guests.run(request, source, args);
  return running instanceof Promise ? running.then(finish) : finish(running);
}

/** Runs the calls of a batch, each from the plugin's loaded state. */
async function runBatch(
  { guests, socket }: Serving,
  { lengths = [], ...request }: HookRequest,
  { source, args }: { source: string | undefined; args: Buffer },
): Promise<ReplyHead> {
  const startedAt = performance.now();
  const each: ReplyPart[] = [];
  let at = 0;
  for (const length of lengths) {
    if (each.length > 0) {
      if (performance.now() - startedAt > MAX_BATCH_MS || socket.bodyBytes() > MAX_BATCH_BYTES) break;
      guests.settle();
    }
    const running = guests.run(request, each.length === 0 ? source : undefined, args.subarray(at, at + length));
    const { reply, body } = running instanceof Promise ? await running : running;
    if (reply.needsSource) break;
    each.push({ ...reply, length: body.length });
    socket.addToBody(body);
    at += length;
  }
  return each.length > 0 ? { console: [], each } : { console: [], needsSource: true };
}

/**
 * Loads a first guest, which takes ten times as long as the next because the engine is compiled. No
 * caller should wait for that.
 */
async function warmUp(guests: GuestCache): Promise<void> {
  const limits = { maxResultBytes: 64, consoleBytes: 64, memoryBytes: 0, budgetMs: 60_000, nowMs: 0 };
  const request: HookRequest = { id: 0, sourceHash: '', path: ['warm'], ...limits };
  await guests.run(request, 'export function warm() { return 1 }', Buffer.from('[]'));
  guests.forget(request.sourceHash);
  await guests.collect(0);
}
