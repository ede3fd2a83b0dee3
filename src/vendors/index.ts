/**
 * Owns: one exchange with a vendor: the contexts of hooks, the credential, the request that a
 * plugin described, the answer as hooks read it, content as it passes. May touch: channels,
 * plugins, kept files, upstream. Never touches: the state of a task, bills, HTTP requests of
 * clients.
 *
 * - `request/`: contexts of hooks, and the request as it is sent.
 * - `answer/`: what an answer means, and whether a client may try again.
 * - `content/`: results as they are downloaded from a vendor.
 * - `trial/`: the test of a channel.
 */

export { BASE64_FROM, BASE64_KEEP, createBase64Cutter, restoreMedia } from './answer/cut-base64.ts';
export {
  ASK_AGAIN_SECONDS,
  hookCause,
  hookError,
  pluginUnavailable,
  tooManyForUser,
  wasNotCalled,
} from './answer/hook-errors.ts';
export {
  EventTooLarge,
  MAX_ACTION,
  readReportedFields,
  readSubmitEvents,
  readVendorAnswer,
  responseInfo,
  unreadAnswer,
  type VendorAnswer,
} from './answer/read-vendor-answer.ts';
export {
  adviseRetry,
  classifyFailure,
  classifyStatus,
  isRepeatable,
  type VendorOutcome,
} from './answer/retry-advice.ts';
export {
  CONTENT_HEADERS,
  fetchContent,
  isMultiRange,
  mayBeSignedForGet,
  pickHeaders,
} from './content/fetch-content.ts';
export { createDownloadLimit } from './content/limit-downloads.ts';
export { locateContent } from './content/locate-content.ts';
export { createRedirectPolicy, pointsToSelf } from './content/redirect-policy.ts';
export { vendorErrors } from './errors.ts';
export {
  artifactContext,
  batchContext,
  decodeContext,
  driverContext,
  protocolContext,
  queryContext,
  upstreamContext,
} from './request/build-contexts.ts';
export { buildUpstreamRequest, CONNECT_TIMEOUT_MS, MAX_REDIRECTS } from './request/build-upstream-request.ts';
export { type RunAccountHook, readBalance, readReportedLimits } from './request/query-account.ts';
export { fileToken, findFiles, restoreFiles, TOKEN_PREFIX_LENGTH } from './request/restore-files.ts';
export { createSendToVendor } from './request/send-to-vendor.ts';
export { createVendorCallbacks } from './request/vendor-callbacks.ts';
export { type Credential, createKeySecrets, localCredential, resolveCredential } from './resolve-credential.ts';
export { traceNetwork } from './trial/trace-network.ts';
export { type ChannelTrial, plainRequest, recordTrial, type TryChannel, tryAccounts } from './trial/try-channel.ts';
export type { ContentRequest, Intent, OriginTasks, ReceivedRequest, VendorContent, VendorDeps } from './types.ts';
