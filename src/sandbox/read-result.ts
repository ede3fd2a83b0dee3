import { createJsonScanner, err, type Json, MAX_JSON_DEPTH, ok, parseJson, type Result } from '../kernel/index.ts';

/** A hook's result is parsed on the gateway's thread, which both limits keep to some 30 ms. */
export const MAX_RESULT_BYTES = 4 * 1024 * 1024;
export const MAX_RESULT_VALUES = 50_000;

/** Shorter text is parsed in less time than it takes to count. */
const SHORT = 64 * 1024;
/** UTF-16 units that are counted between two turns of the event loop. */
const SLICE = 256 * 1024;

/** Why a result was refused. */
type Refused = { kind: 'codec' | 'too_large'; message: string };

/**
 * Parses the result of a hook, which must not be longer than `MAX_RESULT_BYTES`. Its values are
 * counted before, in slices.
 */
export async function readResult(body: string, hook: string): Promise<Result<Json | undefined, Refused>> {
  if (body === '') return ok(undefined);
  if (body.length > SHORT && (await hasTooManyValues(body))) {
    const message = `the result of ${hook} is over the limit of ${MAX_RESULT_VALUES} JSON values`;
    return err({ kind: 'too_large', message });
  }
  const value = parseJson(body);
  if (value !== undefined) return ok(value);
  return err({ kind: 'codec', message: `the result is no JSON of at most ${MAX_JSON_DEPTH} levels` });
}

async function hasTooManyValues(text: string): Promise<boolean> {
  const scanner = createJsonScanner({ maxBytes: Infinity, maxValues: MAX_RESULT_VALUES, maxDepth: Infinity });
  for (let at = 0; at < text.length; at += SLICE) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    if (scanner.scan(Buffer.from(text.slice(at, at + SLICE)))) return true;
  }
  // The parse that follows gets a turn of its own.
  await new Promise((resolve) => setImmediate(resolve));
  return false;
}
