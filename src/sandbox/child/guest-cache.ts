import type { HookRequest } from '../frames.ts';
import type { Engine } from './load-engine.ts';
import { type Answer, type Guest, type MonotonicMs, openGuest } from './open-guest.ts';

/**
 * Plugins loaded at once in a process, and the memory that they may hold together: the longest
 * unused goes first.
 */
const MAX_GUESTS = 32;
const MAX_HELD_BYTES = 48 * 1024 * 1024;
/** Memory of dropped guests and of what calls left behind that may wait for its collection. */
const MAX_GARBAGE_BYTES = 16 * 1024 * 1024;
/**
 * What a call leaves behind, beside copies of its texts. Left to itself the runtime lets 160 MB
 * pile up under load.
 */
const CALL_BYTES = 512;
const TEXT_COPIES = 2;

/** The plugins of one process. */
export interface GuestCache {
  /** Loads the module where need be and runs the request, or says that the source is missing. */
  run(request: HookRequest, source: string | undefined, args: string): Promise<Answer> | Answer;
  /** To be called once the answer is on its way: makes the guest ready for its next call. */
  settle(): void;
  /**
   * Gives the memory of dropped guests back to the system; to be called when nothing refers to them
   * any more.
   */
  collect(): Promise<void>;
  forget(sourceHash: string): void;
}

export function createGuestCache(engine: Engine, monotonicMs: MonotonicMs): GuestCache {
  const sources = new Map<string, string>();
  // In the order of their last use.
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
  const makeRoom = (kept: string): void => {
    let bytes = 0;
    for (const guest of guests.values()) bytes += guest.heldBytes();
    for (const [hash, guest] of guests) {
      if (guests.size <= MAX_GUESTS && bytes <= MAX_HELD_BYTES) return;
      if (hash === kept) continue;
      bytes -= guest.heldBytes();
      forget(hash);
    }
  };
  const call = (request: HookRequest, guest: Guest, args: string, until: number): Answer => {
    guests.delete(request.sourceHash);
    guests.set(request.sourceHash, guest);
    last = { hash: request.sourceHash, guest };
    const answer = guest.run(request, args, until);
    garbageBytes += CALL_BYTES + TEXT_COPIES * (args.length + answer.body.length);
    return answer;
  };
  const load = async (request: HookRequest, source: string, args: string, until: number): Promise<Answer> => {
    const opened = await openGuest(engine, source, request, until, monotonicMs);
    if ('reply' in opened) {
      garbageBytes += MAX_GARBAGE_BYTES;
      return opened;
    }
    sources.set(request.sourceHash, source);
    return call(request, opened, args, until);
  };

  return {
    run(request, given, args) {
      const until = monotonicMs() + request.budgetMs;
      const guest = guests.get(request.sourceHash);
      if (guest) return call(request, guest, args, until);
      const source = given ?? sources.get(request.sourceHash);
      if (source === undefined) return { reply: { console: [], needsSource: true }, body: '' };
      return load(request, source, args, until);
    },
    settle() {
      if (!last) return;
      const { hash, guest } = last;
      last = undefined;
      if (guest.restore()) {
        makeRoom(hash);
      } else {
        drop(hash);
        garbageBytes += MAX_GARBAGE_BYTES;
      }
    },
    async collect() {
      if (garbageBytes < MAX_GARBAGE_BYTES) return;
      garbageBytes = 0;
      // After a turn of the event loop the stack holds no trace of the guest that would keep it
      // alive.
      await Bun.sleep(0);
      Bun.gc(true);
    },
    forget,
  };
}
