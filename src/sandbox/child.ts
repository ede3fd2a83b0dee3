/**
 * The entry of a child process. Loads the guest's engine and nothing else of the product, so that a
 * child stays small: `main.ts` imports this file before anything else of the gateway.
 */
import { readSync, writeSync } from 'node:fs';
import { confineProcess } from './child/confine-process.ts';
import { createGuestCache, type GuestCache } from './child/guest-cache.ts';
import { loadEngine } from './child/load-engine.ts';
import type { Answer } from './child/open-guest.ts';
import { releaseUnusedPages } from './child/release-unused-pages.ts';
import {
  createFrameReader,
  encodeFrame,
  type ForgetRequest,
  type Hello,
  type HookRequest,
  type ReplyPart,
} from './frames.ts';

/** The descriptor of the channel to the parent, the only one that is not /dev/null. */
const CHANNEL_FD = 3;
const READ_BYTES = 65_536;
/**
 * A batch ends early after this many ms, or once its results have this many UTF-16 units: calls
 * that are done must not wait for a slow one. The parent sends the others again.
 */
const MAX_BATCH_MS = 5;
const MAX_BATCH_LENGTH = 65_536;

/**
 * Serves hook calls from the channel, one at a time, until it closes. Reads and writes block: the
 * process has nothing else to do, and going through the event loop would cost more than a call.
 */
export async function runSandboxChild(): Promise<never> {
  const setAlarm = confineProcess();
  const monotonicMs = () => performance.now();
  const guests = createGuestCache(await loadEngine(), monotonicMs);
  const reader = createFrameReader();
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  await warmUp(guests);
  const hello: Hello = { ready: true };
  send(encodeFrame(JSON.stringify(hello), ''));
  // Only now, because the start of the gateway waits for the message.
  releaseUnusedPages();

  for (;;) {
    for (const frame of reader.push(receive(buffer))) {
      const request = JSON.parse(frame.head) as HookRequest | ForgetRequest;
      if ('forget' in request) {
        guests.forget(request.forget);
        continue;
      }
      const startedAt = monotonicMs();
      // The parent kills a guest that no deadline stops. The alarm does, should the parent hang or
      // die.
      setAlarm(Math.ceil(request.budgetMs / 1000) + 2);
      const split = request.sourceLength ?? 0;
      const source = request.sourceLength === undefined ? undefined : frame.body.slice(0, split);
      const args = split === 0 ? frame.body : frame.body.slice(split);
      const running = request.lengths ? runBatch(guests, request, { source, args }) : guests.run(request, source, args);
      const answer = running instanceof Promise ? await running : running;
      const ms = Math.round((monotonicMs() - startedAt) * 1000) / 1000;
      send(encodeFrame(JSON.stringify({ id: request.id, ms, ...answer.reply }), answer.body));
      setAlarm(0);
      guests.settle();
    }
    await guests.collect();
  }
}

/** Runs the calls of a batch, each from the plugin's loaded state. */
async function runBatch(
  guests: GuestCache,
  { lengths = [], ...request }: HookRequest,
  { source, args }: { source: string | undefined; args: string },
): Promise<Answer> {
  const startedAt = performance.now();
  const each: ReplyPart[] = [];
  let body = '';
  let at = 0;
  for (const length of lengths) {
    if (each.length > 0) {
      if (performance.now() - startedAt > MAX_BATCH_MS || body.length > MAX_BATCH_LENGTH) break;
      guests.settle();
    }
    const { reply, body: result } = await guests.run(
      request,
      each.length === 0 ? source : undefined,
      args.slice(at, at + length),
    );
    if (reply.needsSource) break;
    each.push({ ...reply, length: result.length });
    body += result;
    at += length;
  }
  return each.length > 0 ? { reply: { console: [], each }, body } : { reply: { console: [], needsSource: true }, body };
}

/**
 * Loads a first guest, which takes ten times as long as the next because the engine is compiled. No
 * caller should wait for that.
 */
async function warmUp(guests: GuestCache): Promise<void> {
  const limits = { maxResultBytes: 64, consoleBytes: 64, memoryBytes: 0, budgetMs: 60_000, nowMs: 0 };
  const request: HookRequest = { id: 0, sourceHash: '', path: ['warm'], ...limits };
  await guests.run(request, 'export function warm() { return 1 }', '[]');
  guests.forget(request.sourceHash);
  await guests.collect();
}

function receive(buffer: Buffer): Buffer {
  const bytes = readSync(CHANNEL_FD, buffer, 0, buffer.length, null);
  // End of file: the parent closed the channel, or died.
  if (bytes === 0) process.exit(0);
  return Buffer.from(buffer.subarray(0, bytes));
}

function send(frame: Buffer): void {
  let sent = 0;
  while (sent < frame.length) sent += writeSync(CHANNEL_FD, frame, sent, frame.length - sent);
}
