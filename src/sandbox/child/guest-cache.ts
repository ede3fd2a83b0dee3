import type { HookRequest } from '../frames.ts';
import type { Engine } from './load-engine.ts';
import { type Answer, type Guest, loadGuest, type MonotonicMs, NO_BODY } from './load-guest.ts';

/**
 * Most plugins loaded in a process, and the memory that they may hold together. The longest unused
 * is dropped first.
 */
const MAX_GUESTS = 32;
const MAX_HELD_BYTES = 48 * 1024 * 1024;
/** Garbage, of dropped guests, calls and large messages, that triggers a collection. */
const MAX_GARBAGE_BYTES = 16 * 1024 * 1024;
/**
 * Garbage of a call, without its messages: arguments and results never become objects of this
 * process. Without forced collections 160 MB pile up under load.
 */
const CALL_BYTES = 2_048;

/**
 * A call, its arguments as a JSON array in UTF-8, and its deadline on the process's monotonic
 * clock.
 */
type Call = { request: HookRequest; args: Uint8Array; deadline: number };

/** The loaded plugins of a process. */
export interface GuestCache {
  /** Runs a request, loading the module first if need be. Answers `needsSource` if it cannot. */
  run(request: HookRequest, source: string | undefined, args: Uint8Array): Promise<Answer> | Answer;
  /**
   * Resets the guest that ran last. Call it after the answer is sent, to keep it out of the call.
   */
  settle(): void;
  /**
   * Collects garbage when enough has piled up. Call it when no reference to a dropped guest is
   * left. `messageBytes`: garbage of the channel since the last call.
   */
  collect(messageBytes: number): Promise<void> | undefined;
  forget(sourceHash: string): void;
}

export function createGuestCache(engine: Engine, monotonicMs: MonotonicMs): GuestCache {
  const sources = new Map<string, string>();
  // Least recently used first.
  const guests = new Map<string, Guest>();
  let last: { hash: string; guest: Guest } | undefined;
  let garbageBytes = 0;

  const drop = (hash: string): void => {
    garbageBytes += guests.get(hash)?.heldBytes() ?? 0;
    guests.delete(hash);
    if (last?.hash === hash) last = undefined;
  };
  const forget = (hash: string): void => {
    sources.delete(hash);
    drop(hash);
  };
  const evictUnused = (kept: string): void => {
    let bytes = 0;
    for (const guest of guests.values()) bytes += guest.heldBytes();
    for (const [hash, guest] of guests) {
      if (guests.size <= MAX_GUESTS && bytes <= MAX_HELD_BYTES) return;
      if (hash === kept) continue;
      bytes -= guest.heldBytes();
      forget(hash);
    }
  };
  const runIn = (guest: Guest, { request, args, deadline }: Call): Answer => {
    guests.delete(request.sourceHash);
    guests.set(request.sourceHash, guest);
    last = { hash: request.sourceHash, guest };
    const answer = guest.run(request, args, deadline);
    garbageBytes += CALL_BYTES;
    return answer;
  };
  const loadAndRun = async (source: string, call: Call): Promise<Answer> => {
    const { request, deadline } = call;
    const opened = await loadGuest({ engine, monotonicMs }, { source, request, deadline });
    if ('reply' in opened) {
      garbageBytes += MAX_GARBAGE_BYTES;
      return opened;
    }
    sources.set(request.sourceHash, source);
    return runIn(opened, call);
  };

  return {
    run(request, sentSource, args) {
      const call: Call = { request, args, deadline: monotonicMs() + request.budgetMs };
      const guest = guests.get(request.sourceHash);
      if (guest) return runIn(guest, call);
      const source = sentSource ?? sources.get(request.sourceHash);
      if (source === undefined) return { reply: { console: [], needsSource: true }, body: NO_BODY };
      return loadAndRun(source, call);
    },
    settle() {
      if (!last) return;
      const { hash, guest } = last;
      last = undefined;
      if (guest.restore()) {
        evictUnused(hash);
      } else {
        drop(hash);
        garbageBytes += MAX_GARBAGE_BYTES;
      }
    },
    collect(messageBytes) {
      garbageBytes += messageBytes;
      if (garbageBytes < MAX_GARBAGE_BYTES) return undefined;
      garbageBytes = 0;
      // Back from the event loop, the stack holds no reference that would keep the guest alive.
      return Bun.sleep(0).then(() => Bun.gc(true));
    },
    forget,
  };
}
