/**
 * Owns: the task state machine: submission, leases, polling, artifacts, what clients see of a task.
 * May touch: plugins, channels, billing, the store, upstream. Never touches: HTTP requests and
 * cookies, sessions. A task ends in `finish-task.ts` and nowhere else.
 */

export { TASK_STATUSES } from '../store/ports/index.ts';
export type { LinkLimits } from './artifacts/limit-links.ts';
export type { Content, ContentRequest } from './artifacts/open-artifact.ts';
export { taskErrors } from './errors.ts';
export type { NativeRoute } from './native/open-native-route.ts';
export type { RelayCall } from './relay/forward-call.ts';
export type { RelayAnswer } from './relay/relay-answers.ts';
export type { Figures, ModelFigures } from './reports/read-figures.ts';
export type { ChannelHealth } from './reports/read-health.ts';
export type { ResponseAnswer } from './responses/create-response.ts';
export { hasEnded, submittedObject, taskObject, videoObject } from './state/describe-task.ts';
export type { RequestOptions } from './submission/json-request.ts';
export type { CallableModel, RequestSchema } from './submission/list-models.ts';
export { createTasks, type TaskDetail, type TaskFilter, type Tasks } from './tasks.ts';
export type { Caller, ClientRequest, ExtractedFiles, RequestBody, RequestFile, TaskLimits } from './types.ts';
export { fileToken, TOKEN_PREFIX_LENGTH } from './vendor/restore-files.ts';
export { type AllowedReceivers, createCallbackUrls, shownUrl } from './webhooks/callback-urls.ts';
export type { Notice } from './webhooks/webhooks.ts';
