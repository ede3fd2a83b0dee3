/**
 * Owns: what a task has made: its artifacts, links, previews, the copies that the gateway keeps,
 * and how they are served. May touch: tasks, vendors, kept files, billing, the store. Never
 * touches: HTTP requests, relayed calls.
 *
 * - `artifacts/`: what a task's plugin lists, and how the vendor's file is opened.
 * - `copies/`: the copies that the gateway keeps, and their charge; `retry-copy.ts` says when one
 *   is tried again or given up. Whether a result is copied: `files/schedule-result-copies.ts`; how
 *   long it stays: `files/sweep-files.ts`.
 * - `serving/`: what a client downloads: the kept copy, with byte ranges, or the vendor's file, and
 *   how long browsers may keep it.
 * - `links/`: links that work without a key; `previews/`: small images for lists.
 */

export { RESULT_KEY, VIDEO_LINK } from './artifacts/artifact-keys.ts';
export { projectArtifacts, requirePlugin } from './artifacts/read-artifacts.ts';
export { createResolvedLinks } from './artifacts/resolved-links.ts';
export { resultErrors } from './errors.ts';
export type { LinkVideo } from './links/issue-artifact-links.ts';
export { createLinkLimit, createVerifiedLinks } from './links/sign-artifact-links.ts';
export type { Preview } from './previews/describe-previews.ts';
export { createResults, type Results } from './results.ts';
export { type ArtifactList, describeArtifacts } from './serving/describe-artifacts.ts';
export { isDisplayed, readMediaType, writeMediaType } from './serving/media-types.ts';
export type { Content, LinkLimits, ResultDeps } from './types.ts';
