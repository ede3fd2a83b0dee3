/**
 * Owns: what clients speak: tasks, videos, responses, images, audio, MCP, plugins' own routes, the
 * list of models, and batches of requests. May touch: tasks, vendors, relay, results, plugins,
 * channels, billing, the store. Never touches: HTTP requests, cookies, sessions.
 */

export { type Batches, createBatches } from './batches/batches.ts';
export { type BatchRequest, readBatch, readBatchLines, withBatchDefaults } from './batches/read-batch.ts';
export type { CountRequest } from './batches/run-batches.ts';
export { surfaceErrors } from './errors.ts';
export type { RequestOptions } from './json-request.ts';
export type { CallableModel, NamedModel } from './list-models.ts';
export { answerMessage, MCP_VERSIONS } from './mcp/answer-message.ts';
export { createSpendCaps } from './mcp/spend-caps.ts';
export type { NativeRoute } from './native-routes.ts';
export { createSurfaces, type Surfaces } from './surfaces.ts';
export { generationObject, readEdit, readGeneration } from './videos/generations.ts';
