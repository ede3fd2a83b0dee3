import { readSync } from 'node:fs';
import { type Clock, createMutex, err, type Logger, type Result } from '../../kernel/index.ts';
import type { RunProgram } from '../../sandbox/index.ts';
import type { FileStore } from '../../store/ports/index.ts';
import type { KeptMedia, StillFault, StillMaker } from '../../tasks/index.ts';
import { CONTAINER_BYTES, ffmpegArguments, findContainer } from './ffmpeg-arguments.ts';
import { type FfmpegState, findFfmpeg, LIMITS } from './find-ffmpeg.ts';

/** Whether it can be used is looked at again after this time. */
const KNOWN_MS = 60_000;
/** Works at once, the running one with them, and of one user. Each of them holds a copy's slot. */
const MAX_WORKS = 3;
const USER_WORKS = 2;
/** Of a file in a bucket, which is copied for this. */
const MAX_COPIED_BYTES = 256 * 1024 * 1024;
/** A JPEG that is too large for a preview is written again with the second. */
const QUALITIES = [5, 24];
/** After these, one behind the other, administrators are told. */
const FAILURES_TO_TELL = 5;

export type MediaStatus = FfmpegState & { made: number; failed: number; failing: string | undefined };

export type Media = StillMaker & {
  /** What this node can do, and has done since its start. */
  status(): Promise<MediaStatus>;
};

export type MediaDeps = {
  files: FileStore;
  run: RunProgram;
  clock: Clock;
  logger: Logger;
  isOn: () => boolean;
};

/** Draws stills of kept videos and sounds with the system's ffmpeg, one at a time, confined. */
export function createStillMaker({ files, run, clock, logger, isOn }: MediaDeps): Media {
  const inTurn = createMutex();
  const works: number[] = [];
  let known: { atMs: number; state: Promise<FfmpegState> } | undefined;
  let loggedFault: string | undefined;
  const counts = { made: 0, failed: 0 };
  let failures = 0;
  let failing: string | undefined;

  function look(): Promise<FfmpegState> {
    if (!isOn()) {
      known = undefined;
      return findFfmpeg(run, { isUsed: false });
    }
    const now = clock.monotonicMs();
    if (!known || now - known.atMs > KNOWN_MS)
      known = { atMs: now, state: findFfmpeg(run, { isUsed: true }).then(tell) };
    return known.state;
  }

  /** Logs a fault once, and again only after it was mended. */
  function tell(state: FfmpegState): FfmpegState {
    if (state.fault !== null && state.fault !== loggedFault)
      logger.warn({ reason: state.fault }, 'ffmpeg cannot be used');
    loggedFault = state.fault ?? undefined;
    return state;
  }

  const busy: StillFault = { reason: '', isBusy: true };
  const never = (reason: string) => err<StillFault>({ reason, isBusy: false });

  async function drawNow({ sha256, type, signal }: KeptMedia): Promise<Result<Uint8Array, StillFault>> {
    signal.throwIfAborted();
    const { state, path } = await look();
    if (state !== 'ready' || path === null) return never('ffmpeg cannot be used.');
    const limit = { maxBytes: MAX_COPIED_BYTES, signal };
    const drawn = await files.withDescriptor(sha256, limit, async (input) => {
      const container = findContainer(readHead(input));
      if (container === undefined) return never('It is in no container that ffmpeg may read.');
      for (const quality of QUALITIES) {
        const args = ffmpegArguments({ type, container, quality });
        const made = await run({ path, args, limits: LIMITS, input, signal });
        if (made.ok && made.value.byteLength > 0) {
          counts.made += 1;
          failures = 0;
          failing = undefined;
          return made;
        }
        const isTooLarge = !made.ok && made.error.kind === 'output' && type === 'video';
        if (isTooLarge && quality !== QUALITIES.at(-1)) continue;
        return noteFailure(sha256, made.ok ? 'it wrote nothing' : made.error.message);
      }
      return never('');
    });
    return drawn ?? never('Its file is not there, or too large to be copied from the bucket.');
  }

  /** A file that cannot be drawn is not tried again, so it is logged once. */
  function noteFailure(sha256: string, reason: string) {
    counts.failed += 1;
    failures += 1;
    if (failures >= FAILURES_TO_TELL) failing = reason;
    logger.warn({ sha256, reason }, 'ffmpeg made no preview');
    return never('ffmpeg made no preview.');
  }

  return {
    isReady: async () => (await look()).state === 'ready',
    async draw(media) {
      const own = works.filter((userId) => userId === media.userId).length;
      if (works.length >= MAX_WORKS || own >= USER_WORKS) return err(busy);
      works.push(media.userId);
      try {
        return await inTurn(() => drawNow(media));
      } finally {
        works.splice(works.indexOf(media.userId), 1);
      }
    },
    status: async () => ({ ...(await look()), ...counts, failing }),
  };
}

/** The beginning of a file; its other readers are not moved. */
function readHead(descriptor: number): Uint8Array {
  const head = new Uint8Array(CONTAINER_BYTES);
  return head.subarray(0, readSync(descriptor, head, 0, CONTAINER_BYTES, 0));
}
