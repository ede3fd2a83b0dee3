import type { KeptInput, StoredFile } from '../store/ports/index.ts';

/**
 * Longest request that is stored with its task, in characters of JSON. A task's row is always read
 * whole, so longer ones are files.
 */
export const MAX_STORED = 32 * 1024;

type WithoutBytes<Input> = Input extends KeptInput ? Omit<Input, 'sha256' | 'size'> : never;

/** A file of a request, as it is described in the task's row and as it is read. */
export type RequestSource = {
  described: WithoutBytes<KeptInput>;
  size: number;
  stream: () => AsyncIterable<Uint8Array>;
  /** Where it stands already. */
  kept?: StoredFile | undefined;
};
