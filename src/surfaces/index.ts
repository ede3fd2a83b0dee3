/**
 * Owns: what clients speak: tasks, videos, responses, images, audio, MCP, plugins' own routes, the
 * list of models, and batches of requests. May touch: tasks, vendors, relay, results, plugins,
 * channels, billing, the store. Never touches: HTTP requests, cookies, sessions.
 *
 * - `surfaces.ts`: all calls of `http` in one place.
 * - `tasks/`: `POST /v1/tasks/:pluginKey`, and an ended task submitted again.
 * - `videos/`, `images/`, `responses/`, `create-audio.ts`: OpenAI's operations, by plugins.
 * - `batches/`: files of requests; `mcp/`: tools for agents; `open-native-path.ts`: plugins' own
 *   paths.
 * - `decode-for-protocol.ts`: what a plugin makes of a request of another protocol.
 * - `quote-task.ts`: what a request would cost; `list-models.ts`: what may be requested.
 */

export { type Batches, createBatches, FILE_SECONDS } from './batches/batches.ts';
export { type BatchRequest, readBatch, readBatchLines, withBatchDefaults } from './batches/read-batch.ts';
export type { CountRequest } from './batches/run-batches.ts';
export { surfaceErrors } from './errors.ts';
export type { RequestOptions } from './json-request.ts';
export type { CallableModel, NamedModel } from './list-models.ts';
export { answerBody, MCP_VERSIONS } from './mcp/answer-message.ts';
export { createSpendCaps } from './mcp/spend-caps.ts';
export type { NativeRoute } from './open-native-path.ts';
export { createSurfaces, type Surfaces } from './surfaces.ts';
export { generationObject, readEdit, readGeneration } from './videos/video-generations.ts';
