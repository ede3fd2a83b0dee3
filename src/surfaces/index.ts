/**
 * Owns: what clients speak: tasks, videos, responses, images, plugins' own routes and the list of
 * models. May touch: tasks, vendors, relay, results, plugins, channels, billing, the store. Never
 * touches: HTTP requests, cookies, sessions.
 */

export { surfaceErrors } from './errors.ts';
export { answerMessage, MCP_VERSIONS } from './mcp/answer-message.ts';
export { createSpendCaps } from './mcp/spend-caps.ts';
export type { CallableModel, NamedModel } from './models/list-models.ts';
export type { NativeRoute } from './native/open-native-path.ts';
export { createSurfaces, type Surfaces } from './surfaces.ts';
export type { RequestOptions } from './tasks/json-request.ts';
export { generationObject, readGeneration } from './videos/generations.ts';
export { readEdit } from './videos/read-edit.ts';
