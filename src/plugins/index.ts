/**
 * Owns: the plugin contract. That is manifests, rules for sources, generations of serving plugins,
 * native routing, hook calls and checks of their results, marketplaces.
 *
 * May touch: the store's ports of plugins, options, channels, task counts and the audit log; the
 * sandbox; marketplaces through the outbound client, and the folder that mirrors them. Never
 * touches: vendors, task state, money.
 *
 * - `service/`: what administrators do with versions: upload, preview, activate, roll back, move.
 * - `registry/`: which version of a plugin serves, and generations of those that do.
 * - `hooks/`: calls of a plugin's functions, and checks of what they return.
 * - `manifest/`, `source/`, `lint/`, `icons/`: the rules for what an author writes. What hosts of
 *   the first contract refuse (`--strict-v1`): `manifest/normalize-meta.ts` (`newerNames`).
 * - `worker/`: the thread in which a plugin is checked and compiled.
 * - `market-index/`: the list of a marketplace as it is read: its order, versions and signed parts.
 *   `marketplace/`: what is offered, installed and published. `signing/`: keys and signatures.
 * - `author/`: what `taskgate plugin` does for authors. It has an entrance of its own, so that a
 *   gateway does not load it; the command line also goes to the files that publish a marketplace.
 * - `factory/`: the factory plugins: they ship with the gateway, and people read "built-in".
 */
export type * from '../../contracts/v1.d.ts';
export { pluginErrors } from './errors.ts';
export {
  allowsHost,
  buildBatchQueryRequest,
  buildQueryRequest,
  buildSubmitRequest,
  checkRequestUrl,
  isRedirectHost,
  type PluginRequest,
  type SubmitRequest,
} from './hooks/build-requests.ts';
export { describeHookFailure, type HookOptions, isHostFailure } from './hooks/call-hook.ts';
export {
  type DecodedQuery,
  type DecodedSubmit,
  decodeNativeRequest,
  decodeProtocolRequest,
  findUnservedModel,
  readOriginTaskIds,
} from './hooks/decode-requests.ts';
export { extractUsage, extractUsageOnComplete, extractUsageOnSubmit } from './hooks/extract-usage.ts';
export {
  type ParsedBatchItem,
  type ParsedSubmission,
  parseBatchResult,
  parseSubmitError,
  parseSubmitResponse,
  parseTaskResult,
  type SubmitError,
} from './hooks/parse-answers.ts';
export { createSubmitStream } from './hooks/parse-submit-events.ts';
export {
  callImageRender,
  callNativeError,
  callNativeRender,
  callVideoRender,
  type RenderedImages,
} from './hooks/present-tasks.ts';
export {
  type AccountRequest,
  type ReportedLimits,
  readBalanceAmount,
  readBalanceRequest,
  readCapacityAnswer,
} from './hooks/read-account.ts';
export type { DescriptorBody, DescriptorPart } from './hooks/read-descriptor.ts';
export { isPlaceholder, readPlaceholder } from './hooks/read-descriptor.ts';
export type { ParsedTask, StateChange } from './hooks/read-task-result.ts';
export {
  type RenderedEvent,
  type RenderedEvents,
  type RenderedFinal,
  renderEvents,
  renderFinal,
} from './hooks/render-answers.ts';
export {
  buildContentRequest,
  type ContentRequest,
  isAddress,
  listArtifacts,
  type Resolution,
  readContentRequest,
  resolveArtifact,
} from './hooks/serve-artifacts.ts';
export type { IconImage } from './icons/check-icon.ts';
export { checkRequestQuantities, findUsage, NUMBER_LIMITS } from './manifest/check-facts.ts';
export { chooseRange, toKeyPattern } from './manifest/read-vendor-info.ts';
export { findLaterHostRoute, LATER_HOST_ROUTES } from './manifest/route-paths.ts';
export type { MarketSource } from './market-index/types.ts';
export type { MarketTrust, PinMarketKey } from './marketplace/check-trust.ts';
export {
  createMarketplace,
  type Marketplace,
  type OfferedSource,
  type SourceOffer,
} from './marketplace/create-marketplace.ts';
export type { RuntimeStatus } from './registry/create-registry.ts';
export { findDriver, servesPlatform } from './registry/find-task-plugin.ts';
export { pickPlace } from './registry/load-plugin.ts';
export { createPluginService, type PluginService, type Uploaded } from './service/create-plugin-service.ts';
export type { PluginDetail, PluginSummary, PluginVersion } from './service/describe-plugins.ts';
export { OFFICIAL_KEYS } from './service/describe-plugins.ts';
export type { VersionDiff } from './service/diff-versions.ts';
export type { DryRun, DryRunOutcome } from './service/dry-run.ts';
export type { PluginMove } from './service/move-plugin.ts';
export type { ActivationPreview } from './service/preview-activation.ts';
export type { ReplayVerdict } from './service/replay-tasks.ts';
export type { PluginUpload } from './service/upload-plugin.ts';
export type { FailingVersion, PluginOutcome } from './service/watch-outcomes.ts';
export { hashData, readSignature, signData, verifySignature } from './signing/signature.ts';
export {
  generateSigningKey,
  needsPassword,
  type PublicKey,
  parsePublicKey,
  parsePublicKeyFile,
  readSecretKeyFile,
  type SigningKey,
  writePublicKeyFile,
  writeSecretKeyFile,
} from './signing/signing-keys.ts';
export type { Permission, PermissionChanges, PermissionCode } from './source/describe-permissions.ts';
export type {
  CallOptions,
  FactRange,
  Generation,
  HookCall,
  HookFailure,
  LoadedPlugin,
  LocalizedText,
  Manifest,
  Pin,
  PluginFault,
  PluginRoute,
  ProtocolClaim,
  ProtocolName,
  RequestInput,
  ResponsesMode,
  RouteMatch,
  RouteMethod,
  TaskOrigin,
  UsageField,
  VendorInfo,
} from './types.ts';
export { type CompiledPlugin as FactoryPlugin, createCompiler } from './worker/compile-plugin.ts';
