/**
 * Owns: the task state machine: submission, leases, polling, artifacts, what clients see of a task. May touch: plugins, channels,
 * billing, the store, upstream. Never touches: HTTP requests and cookies, sessions. A task ends in `finish-task.ts` and nowhere else.
 */

export { taskErrors } from './errors.ts';
export type { RequestManner } from './json-request.ts';
export type { LinkLimits } from './limit-links.ts';
export type { CallableModel, RequestSchema } from './list-models.ts';
export type { NativeRoute } from './native/open-native-route.ts';
export type { Content, ContentRequest } from './open-artifact.ts';
export type { Figures, ModelFigures } from './read-figures.ts';
export type { ChannelHealth } from './read-health.ts';
export type { RelayCall } from './relay/forward-call.ts';
export type { RelayAnswer } from './relay/relay-answers.ts';
export type { ResponseAnswer } from './responses/create-response.ts';
export { fileToken, TOKEN_PREFIX_LENGTH } from './restore-files.ts';
export { hasEnded, submittedObject, taskObject, videoObject } from './show-task.ts';
export { createTasks, type TaskDetail, type TaskFilter, type Tasks } from './tasks.ts';
export type { Caller, ClientRequest, ExtractedFiles, RequestBody, RequestFile, TaskLimits } from './types.ts';
export { type AllowedReceivers, createCallbackUrls, shownUrl } from './webhooks/callback-urls.ts';
export type { Notice } from './webhooks/webhooks.ts';
