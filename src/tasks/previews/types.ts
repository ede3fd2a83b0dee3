import type { Result } from '../../kernel/index.ts';

/** A kept video or sound of which a still is wanted. */
export type KeptMedia = { sha256: string; type: 'video' | 'audio'; userId: number; signal: AbortSignal };

/** `isBusy`: nothing was tried; ask again soon. */
export type StillFault = { reason: string; isBusy: boolean };

/** A program of the system that draws stills. What it gives is not to be trusted. */
export type StillMaker = {
  /** Whether it can be asked now. */
  isReady(): Promise<boolean>;
  /** Rejects when the place of results does, or `signal` is aborted. */
  draw(media: KeptMedia): Promise<Result<Uint8Array, StillFault>>;
};
