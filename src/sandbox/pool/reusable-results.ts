/**
 * Memory of all results together. The request that polls a task takes some 425 bytes, so it is
 * enough for 150,000 running tasks.
 */
const MAX_BYTES = 64 * 1024 * 1024;
/** Results of calls that are made again and again are short; a long one would evict many. */
const MAX_RESULT_CHARS = 16 * 1024;
/** Memory of an entry without its result (measured): key, object and slots of map and list. */
const ENTRY_BYTES = 205;
/** Bytes of the key that each choice of an entry to evict uses. */
const CHOICE_BYTES = 4;
const KEY_BYTES = 32;

/** `args`: a JSON array. */
type ResultOrigin = { sourceHash: string; path: readonly string[]; maxResultBytes: number; args: string };
type Entry = { result: string; bytes: number; sourceHash: string; index: number };

/**
 * Results of hook calls that depend on their arguments alone. Arguments and results may hold
 * credentials: only a digest of the arguments is kept, and nothing is ever logged.
 */
export interface ReusableResults {
  /** What decides a result: SHA-256 over source, path, limit of the result and arguments. */
  toKey(call: ResultOrigin): string;
  /** The result as JSON in an equal call; `undefined` where none is kept. */
  find(key: string): string | undefined;
  keep(key: string, result: string, sourceHash: string): void;
  /** Drops the results of a module. */
  forget(sourceHash: string): void;
  size(): number;
  heldBytes(): number;
}

/**
 * When the memory is full, each new result evicts another one, chosen by the digits of its key, so
 * at random. The tasks of a gateway are polled in turn: if there are more tasks than memory for
 * them, the one unused for the longest is always needed next.
 */
export function createReusableResults(maxBytes: number = MAX_BYTES): ReusableResults {
  const entries = new Map<string, Entry>();
  const keys: string[] = [];
  const digest = Buffer.alloc(KEY_BYTES);
  let held = 0;

  const drop = (key: string): void => {
    const entry = entries.get(key);
    if (!entry) return;
    entries.delete(key);
    held -= entry.bytes;
    const last = keys.pop() as string;
    if (last === key) return;
    keys[entry.index] = last;
    (entries.get(last) as Entry).index = entry.index;
  };
  const choose = (key: string, at: number): string => {
    let number = 0;
    for (let i = 0; i < CHOICE_BYTES; i++) number = number * 256 + key.charCodeAt((at + i) % KEY_BYTES);
    return keys[number % keys.length] as string;
  };

  return {
    toKey({ sourceHash, path, maxResultBytes, args }) {
      // No part but the last one can contain a line break.
      Bun.SHA256.hash(`${sourceHash}\n${maxResultBytes}\n${JSON.stringify(path)}\n${args}`, digest);
      return digest.toString('latin1');
    },
    find: (key) => entries.get(key)?.result,
    keep(key, result, sourceHash) {
      if (result.length > MAX_RESULT_CHARS || entries.has(key)) return;
      const bytes = ENTRY_BYTES + result.length * (isLatin1(result) ? 1 : 2);
      for (let at = 0; held + bytes > maxBytes && keys.length > 0; at += CHOICE_BYTES) drop(choose(key, at));
      entries.set(key, { result, bytes, sourceHash, index: keys.length });
      keys.push(key);
      held += bytes;
    },
    forget(sourceHash) {
      for (const [key, entry] of entries) if (entry.sourceHash === sourceHash) drop(key);
    },
    size: () => entries.size,
    heldBytes: () => held,
  };
}

/** Then the runtime needs one byte for each character. */
const isLatin1 = (text: string): boolean => !/[^\0-\xff]/.test(text);
