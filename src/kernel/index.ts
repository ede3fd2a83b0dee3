/**
 * Owns: errors, Result, clock, ids, random numbers, cryptographic primitives, JSON types, the
 * logger's interface. May touch: the standard library. Never touches: files, the network, the
 * environment, another room.
 */

export type { CleanUpStep } from './background-work.ts';
export { detachFromRequest, nextTurn, shareWait } from './background-work.ts';
export { batchCalls } from './batch-calls.ts';
export {
  BUDGET_PERIODS,
  type Budget,
  type BudgetOwner,
  type BudgetPeriod,
  type BudgetSum,
  findBudgetSum,
  isBudget,
} from './budget-periods.ts';
export { createByteBuffer, detachBuffer, toStream } from './byte-streams.ts';
export { canonicalJson } from './canonical-json.ts';
export {
  CLOCK_LEEWAY_SECONDS,
  type Clock,
  type ClockWatch,
  type Deadline,
  deadlineSignal,
  inStep,
  isOver,
  isoTime,
  sleepInStep,
  systemClock,
  watchClock,
} from './clock.ts';
export {
  constantTimeEqual,
  createSecretBox,
  deriveKey,
  hmacSha256Base64,
  hmacSha256Base64Url,
  hmacSha256Hex,
  readSecretList,
  type SecretBox,
  sha256Hex,
  writeSecretList,
} from './crypto.ts';
export { listKeySecrets, listRequestSecrets, SHORTEST_SECRET } from './derived-secrets.ts';
export { countNames, editJson, type JsonChanges, parseLongIds, readJsonMembers } from './edit-json.ts';
export {
  AppError,
  defineErrors,
  type ErrorKind,
  err,
  OperatorError,
  ok,
  type Result,
  unreadable,
  unwritable,
} from './errors.ts';
export {
  ANONYMOUS_OWNER,
  BALANCE_OWNER,
  createFairLimiter,
  createFairQueue,
  type FairLimiter,
  type FairQueue,
  SYSTEM_OWNER,
  userOwner,
} from './fair-queue.ts';
export {
  createJsonValueFinder,
  type FoundValue,
  type JsonValueFinder,
  MAX_ID_CHARS,
  TOO_LONG_ID,
  type WantedValue,
} from './find-json-values.ts';
export {
  fileIdTime,
  isIdempotencyKey,
  jitter,
  newBatchId,
  newFileId,
  newMessageId,
  newRelayId,
  newTaskId,
  newUuid,
  type Random,
  RELAY_PREFIX,
  randomAlnum,
  randomBase64,
  randomBelow,
  randomToken,
  systemRandom,
} from './ids.ts';
export {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isJsonType,
  isObject,
  type Json,
  type JsonObject,
  MAX_JSON_DEPTH,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  parseJson,
  QUOTE,
  withoutUndefined,
  ZERO,
} from './json.ts';
export type { ReportCacheSize } from './logger.ts';
export { type Logger, silentLogger } from './logger.ts';
export { MAX_QUOTA, QUOTA_PER_USD } from './quota.ts';
export {
  createRedactor,
  createWholeRedactor,
  escapeHiddenCharacters,
  escapeHiddenInJson,
  hasHiddenCharacters,
  isGroupName,
  listSecrets,
  type Redactor,
  redactJson,
  redactJsonWith,
  redactSecrets,
  removeHiddenCharacters,
  type Secrets,
  sanitizeMessage,
} from './redact.ts';
export { createReplica, type Replica } from './replica.ts';
export {
  createJsonScanner,
  type JsonBound,
  type JsonBounds,
  type JsonScanner,
  MAX_JSON_NAME_BYTES,
  MAX_JSON_NUMBER_BYTES,
  sliceChunks,
} from './scan-json.ts';
export { createSemaphore, holdSlotUntilSent, type Semaphore, type Slot } from './semaphore.ts';
export {
  mapSentence,
  quoted,
  type Reason,
  type Sentence,
  SentenceError,
  type SentenceParams,
  type SentenceValue,
  type StoredSentence,
  sentence,
  toSentence,
  withoutMessage,
} from './sentences.ts';
export { createBase64Splitter, findImageType } from './split-base64.ts';
export {
  countCharacters,
  describeBytes,
  escapeXml,
  findNearest,
  firstCharacters,
  jsonBytes,
  matchesEntityTag,
  memoizeTexts,
  pluralize,
  trimTrailing,
} from './texts.ts';
export { createZoneClock, isTimeZone, readDate, type ZoneClock } from './time-zone.ts';
export { parseUserAgent } from './user-agents.ts';
