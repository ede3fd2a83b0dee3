import { realpathSync } from 'node:fs';
import type { RunProgram } from '../../sandbox/index.ts';
import { MAX_PREVIEW_BYTES } from '../../tasks/index.ts';

/** What one still may cost. A frame of 8K needs about 100 MB, and decoders hold several. */
export const LIMITS = {
  timeMs: 30_000,
  cpuSeconds: 20,
  memoryBytes: 1024 * 1024 * 1024,
  outputBytes: MAX_PREVIEW_BYTES,
};

/** `path`: where it is, or would be used. `fault`: why it is not used although it should be. */
export type FfmpegState = { state: 'off' | 'ready' | 'unusable'; path: string | null; fault: string | null };

/** Looks for ffmpeg on PATH. Where it `isUsed`, it is also started once, as for a preview. */
export async function findFfmpeg(run: RunProgram, { isUsed }: { isUsed: boolean }): Promise<FfmpegState> {
  const found = Bun.which('ffmpeg');
  const path = found === null ? null : realpathSync(found);
  if (!isUsed) return { state: 'off', path, fault: null };
  if (path === null) return { state: 'unusable', path, fault: 'there is no ffmpeg on the PATH' };
  const { signal } = new AbortController();
  const said = await run({ path, args: ['-version'], limits: LIMITS, input: 'ignore', signal });
  if (said.ok) return { state: 'ready', path, fault: null };
  const { kind, message } = said.error;
  const fault = kind === 'not_confined' ? `it cannot be confined here: ${message}` : `it does not start: ${message}`;
  return { state: 'unusable', path, fault };
}
