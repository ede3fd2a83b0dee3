import {
  createJsonScanner,
  err,
  type Json,
  type JsonBound,
  MAX_JSON_DEPTH,
  MAX_JSON_NAME_BYTES,
  nextTurn,
  ok,
  parseJson,
  type Result,
  type Sentence,
  sentence,
} from '../kernel/index.ts';

/** A hook's result is parsed on the gateway's thread. Within both limits that takes some 30 ms. */
export const MAX_RESULT_BYTES = 4 * 1024 * 1024;
export const MAX_RESULT_VALUES = 100_000;

/** UTF-16 units. Shorter text is parsed faster than its values are counted. */
const SHORT_LENGTH = 64 * 1024;
/** UTF-16 units that are scanned before the event loop gets to run. */
const SLICE_LENGTH = 256 * 1024;

/** Why a result was refused. */
type Refusal = Sentence & { kind: 'codec' | 'too_large' };

/**
 * Parses the result of a hook; `undefined` where it returned nothing. The caller ensures that the
 * result is at most `MAX_RESULT_BYTES` long. The values of a long result are counted first, in
 * slices.
 */
export async function readResult(body: string, hook: string): Promise<Result<Json | undefined, Refusal>> {
  if (body === '') return ok(undefined);
  const passed = body.length > SHORT_LENGTH ? await findPassedBound(body) : undefined;
  if (passed !== undefined) {
    const said =
      passed === 'maxNameBytes'
        ? sentence('hook.result_names', { name: hook, size: MAX_JSON_NAME_BYTES / 1024 })
        : sentence('hook.result_values', { name: hook, max: MAX_RESULT_VALUES });
    return err({ kind: 'too_large', ...said });
  }
  const value = parseJson(body);
  if (value !== undefined) return ok(value);
  return err({ kind: 'codec', ...sentence('hook.result_json', { max: MAX_JSON_DEPTH }) });
}

async function findPassedBound(text: string): Promise<JsonBound | undefined> {
  const scanner = createJsonScanner({ maxBytes: Infinity, maxValues: MAX_RESULT_VALUES, maxDepth: Infinity });
  for (let at = 0; at < text.length; at += SLICE_LENGTH) {
    if (at > 0) await nextTurn();
    const passed = scanner.scan(Buffer.from(text.slice(at, at + SLICE_LENGTH)));
    if (passed) return passed;
  }
  // The event loop runs once more before the parse.
  await nextTurn();
  return undefined;
}
