import type { Result } from '../../../kernel/index.ts';

export type StillType = 'image/png' | 'image/jpeg' | 'image/webp';

/** A still image of known size, made of what shows its pixels and nothing else. */
export type StillImage = { type: StillType; width: number; height: number; bytes: Uint8Array };

/** The image, or why it is not taken: the end of a sentence that begins with "The image". */
export type ReadImage = (file: Uint8Array) => Result<StillImage, string>;
