/**
 * Owns: errors, Result, clock, ids, random numbers, cryptographic primitives, JSON types, the
 * logger's interface. May touch: the standard library. Never touches: files, the network, the
 * environment, another room.
 */
export { createByteBuffer } from './byte-buffer.ts';
export { canonicalJson } from './canonical-json.ts';
export type { CleanUpStep } from './clean-up-step.ts';
export { CLOCK_LEEWAY_SECONDS, type Clock, inStep, isOver, isoTime, sleepInStep, systemClock } from './clock.ts';
export {
  type ConcurrencyLimit,
  type ConcurrencySlot,
  createConcurrencyLimit,
  holdSlotUntilSent,
} from './concurrency-limit.ts';
export { countOf } from './count-of.ts';
export {
  constantTimeEqual,
  createSecretBox,
  deriveKey,
  hmacSha256Base64,
  hmacSha256Base64Url,
  hmacSha256Hex,
  type SecretBox,
  sha256Hex,
} from './crypto.ts';
export { type Deadline, deadlineSignal } from './deadline-signal.ts';
export { secretsOfKey, secretsOfRequest } from './derived-secrets.ts';
export { countNames, editJson, type JsonChanges, readJsonMembers } from './edit-json.ts';
export { AppError, defineErrors, type ErrorKind } from './errors.ts';
export { createFairLimiter, type FairLimiter } from './fair-limiter.ts';
export { createFairQueue, type FairQueue } from './fair-queue.ts';
export {
  createJsonValueFinder,
  type FoundValue,
  type JsonValueFinder,
  MAX_ID_CHARS,
  TOO_LONG_ID,
  type WantedValue,
} from './find-json-values.ts';
export { freeChunk } from './free-chunk.ts';
export {
  escapeHiddenCharacters,
  escapeHiddenInJson,
  hasHiddenCharacters,
  removeHiddenCharacters,
} from './hidden-characters.ts';
export {
  jitter,
  newMessageId,
  newRelayId,
  newTaskId,
  newUuid,
  randomAlnum,
  randomBase64,
  randomBelow,
  randomToken,
} from './ids.ts';
export { isObject, type Json, type JsonObject, MAX_JSON_DEPTH, parseJson } from './json.ts';
export { type Logger, silentLogger } from './logger.ts';
export { memoizeTexts } from './memoize-texts.ts';
export { createMutex, type Mutex } from './mutex.ts';
export { nextTurn } from './next-turn.ts';
export { outsideRequest } from './outside-request.ts';
export { ANONYMOUS_OWNER, SYSTEM_OWNER, userOwner } from './owner.ts';
export { parseLongIds } from './parse-long-ids.ts';
export {
  createRedactor,
  createWholeRedactor,
  listSecrets,
  type Redactor,
  redactSecrets,
  type Secrets,
  sanitizeMessage,
} from './redact.ts';
export { redactJson, redactJsonWith } from './redact-json.ts';
export { createReplica, type Replica } from './replica.ts';
export { err, ok, type Result } from './result.ts';
export {
  createJsonScanner,
  type JsonBound,
  type JsonBounds,
  type JsonScanner,
  MAX_JSON_NAME_BYTES,
  sliceChunks,
} from './scan-json.ts';
export { createSemaphore, type Semaphore } from './semaphore.ts';
export {
  mapSentence,
  quoted,
  type Reason,
  type Sentence,
  type SentenceParams,
  type SentenceValue,
  sentence,
  toSentence,
} from './sentences.ts';
export { createBase64Splitter } from './split-base64.ts';
export { streamOf } from './stream-of.ts';
export { trimTrailing } from './trim-trailing.ts';
export type { WatchCache } from './watch-cache.ts';
