/**
 * Owns: the task state machine: submission, leases, polling, artifacts, and the views of a task
 * that clients get. May touch: plugins, channels, billing, the store, upstream. Never touches: HTTP
 * requests, cookies, sessions. Every task ends in `state/finish-task.ts`, nowhere else.
 */

export {
  LIST_LIMITS,
  type ListedTask,
  TASK_SORTS,
  TASK_STATUSES,
  type TaskListFilter,
  type TaskSort,
} from '../store/ports/index.ts';
export type { ArtifactList } from './artifacts/describe-artifacts.ts';
export { isDisplayed, readMediaType, writeMediaType } from './artifacts/media-types.ts';
export { RESULT_KEY } from './artifacts/result-artifact.ts';
export type { Content, ContentRequest, LinkLimits } from './artifacts/types.ts';
export { taskErrors } from './errors.ts';
export { digestJson } from './idempotency/digest-json.ts';
export type { NativePath, NativeRoute } from './native/open-native-path.ts';
export { RELAY_PLUGIN_KEY } from './relay/relay-billing.ts';
export type { RelayAnswer, RelayCall } from './relay/types.ts';
export type { ChannelHistory } from './reports/read-channel-history.ts';
export type { Figures, ModelFigures } from './reports/read-figures.ts';
export type { ChannelHealth } from './reports/read-health.ts';
export type { UsageReport } from './reports/read-usage.ts';
export { createZoneClock, isTimeZone, readDate } from './reports/time-zone.ts';
export type { ResponseAnswer } from './responses/create-response.ts';
export type { ResultSettings } from './results/types.ts';
export { eraseUsersStep as createUserErasure } from './retention/erase-users.ts';
export type { RetentionSettings, RetentionStep } from './retention/types.ts';
export { submittedObject, taskObject, videoObject } from './state/describe-task.ts';
export type { RequestSchema } from './submission/describe-request.ts';
export type { RequestOptions } from './submission/json-request.ts';
export type { CallableModel } from './submission/list-models.ts';
export { requestedModel } from './submission/read-model.ts';
export { createTasks, type TaskDetail, type Tasks } from './tasks.ts';
export type {
  BodyDigests,
  Caller,
  ClientRequest,
  ExtractedFiles,
  RequestBody,
  RequestFile,
  TaskLimits,
  TaskMeter,
  TaskTracer,
} from './types.ts';
export { retryAfterMs } from './vendor/poll-schedule.ts';
export { fileToken, TOKEN_PREFIX_LENGTH } from './vendor/restore-files.ts';
export { createCallbackUrls, shownUrl } from './webhooks/callback-urls.ts';
export { GIVE_UP_AFTER_MS } from './webhooks/retry-schedule.ts';
export { readSecret } from './webhooks/sign-message.ts';
export type { AllowedReceivers, GatewayDelivery } from './webhooks/types.ts';
export type { Notice } from './webhooks/webhooks.ts';
