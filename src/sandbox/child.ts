/**
 * The other side of the sandbox: what a child process runs. Loads the guest's engine and nothing
 * else of the product, so that a child stays small; `main.ts` imports this file before anything
 * else of the gateway.
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

/** The channel to the parent, the only descriptor that is not /dev/null. */
const CHANNEL = 3;
const READ_BYTES = 65_536;
/**
 * Calls that came together are made until this many ms have passed or their results are so long:
 * those made shall not wait for a slow one.
 */
const TOGETHER_MS = 5;
const TOGETHER_LENGTH = 65_536;

/**
 * Serves hook calls from the channel, one at a time, until it closes. Reads and writes block: the
 * process has nothing else to do, and a turn of the event loop would cost more than a call.
 */
export async function runSandboxChild(): Promise<never> {
  const fuse = confineProcess();
  const monotonicMs = () => performance.now();
  const guests = createGuestCache(await loadEngine(), monotonicMs);
  const reader = createFrameReader();
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  await warmUp(guests);
  const hello: Hello = { ready: true };
  send(encodeFrame(JSON.stringify(hello), ''));
  // Not before: the start of the gateway waits for this message.
  releaseUnusedPages();

  for (;;) {
    for (const frame of reader.push(receive(buffer))) {
      const request = JSON.parse(frame.head) as HookRequest | ForgetRequest;
      if ('forget' in request) {
        guests.forget(request.forget);
        continue;
      }
      const startedAt = monotonicMs();
      // Should the parent die meanwhile, or hang, nobody else would end a guest that no deadline
      // stops.
      fuse(Math.ceil(request.budgetMs / 1000) + 2);
      const split = request.sourceLength ?? 0;
      const source = request.sourceLength === undefined ? undefined : frame.body.slice(0, split);
      const args = split === 0 ? frame.body : frame.body.slice(split);
      const made = request.lengths ? runEach(guests, request, source, args) : guests.run(request, source, args);
      const answer = made instanceof Promise ? await made : made;
      const ms = Math.round((monotonicMs() - startedAt) * 1000) / 1000;
      send(encodeFrame(JSON.stringify({ id: request.id, ms, ...answer.reply }), answer.body));
      fuse(0);
      guests.settle();
    }
    await guests.collect();
  }
}

/** Several calls, each from the loaded state. */
async function runEach(
  guests: GuestCache,
  { lengths = [], ...request }: HookRequest,
  source: string | undefined,
  args: string,
): Promise<Answer> {
  const startedAt = performance.now();
  const each: ReplyPart[] = [];
  let body = '';
  let at = 0;
  for (const length of lengths) {
    if (each.length > 0) {
      if (performance.now() - startedAt > TOGETHER_MS || body.length > TOGETHER_LENGTH) break;
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
 * The first guest of a process takes ten times as long as the next, while the engine is compiled:
 * not at a caller's expense.
 */
async function warmUp(guests: GuestCache): Promise<void> {
  const limits = { maxResultBytes: 64, consoleBytes: 64, memoryBytes: 0, budgetMs: 60_000, nowMs: 0 };
  const request: HookRequest = { id: 0, sourceHash: '', path: ['warm'], ...limits };
  await guests.run(request, 'export function warm() { return 1 }', '[]');
  guests.forget(request.sourceHash);
  await guests.collect();
}

function receive(buffer: Buffer): Buffer {
  const bytes = readSync(CHANNEL, buffer, 0, buffer.length, null);
  // The parent closed the channel or died.
  if (bytes === 0) process.exit(0);
  return Buffer.from(buffer.subarray(0, bytes));
}

function send(frame: Buffer): void {
  let sent = 0;
  while (sent < frame.length) sent += writeSync(CHANNEL, frame, sent, frame.length - sent);
}
