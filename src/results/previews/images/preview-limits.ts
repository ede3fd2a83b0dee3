/** Limits of a preview: what a list of pictures can load at once. */
export const MAX_PREVIEW_BYTES = 64 * 1024;
export const MAX_PREVIEW_SIDE = 512;
