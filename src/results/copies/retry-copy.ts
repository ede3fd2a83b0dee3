/**
 * Decides when the copy of a result is tried again, and after which failures it is given up. After
 * seven days it is given up in any case: `LONGEST_RESULT_TRIES_MS` in `store/ports/results.ts`.
 */
import { AppError, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import type { FileFault, KeptResultRecord } from '../../store/ports/index.ts';
import type { CopyFailure } from '../types.ts';

const MINUTE_MS = 60_000;
/** Time before the second attempt; it doubles with each one. */
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 15 * MINUTE_MS;
/** After these, if the last two agree, the vendor's link is believed to be gone or shut. */
const GONE_ATTEMPTS = 3;
const REFUSED_ATTEMPTS = 6;
/** A full disk or quota is checked again after this time. */
export const FULL_PAUSE_MS = 10 * MINUTE_MS;

export const overQuota: CopyFailure = {
  reason: sentence('results.quota'),
  inMs: FULL_PAUSE_MS,
};

export const pauseAfter = (attempts: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempts, 10), LONGEST_PAUSE_MS);

export const lost = (reason: Sentence): CopyFailure => ({ reason, inMs: null });

export function toFailure(
  error: unknown,
  { attempts, reasonSentence: former }: Pick<KeptResultRecord, 'attempts' | 'reasonSentence'>,
): CopyFailure {
  if (!(error instanceof AppError) || !error.code.startsWith('tasks.')) throw error;
  const isGone = ['tasks.artifact_gone', 'tasks.artifact_not_found'].includes(error.code);
  const isRefused = error.code === 'tasks.artifact_upstream_auth_failed';
  // Earlier attempts may have met a full disk or a busy vendor, which says nothing about the link.
  const isRepeated = former?.reason === error.reason;
  const isOver = (isGone && attempts + 1 >= GONE_ATTEMPTS) || (isRefused && attempts + 1 >= REFUSED_ATTEMPTS);
  return { reason: toSentence(error), inMs: isOver && isRepeated ? null : pauseAfter(attempts) };
}

export function toCopyFailure(
  fault: FileFault,
  { isQuota, attempts }: { isQuota: boolean; attempts: number },
): CopyFailure {
  const { kind } = fault;
  const storageError = toSentence(fault);
  if (kind === 'full') return { reason: sentence('results.no_room'), inMs: FULL_PAUSE_MS, storageError };
  if (kind === 'unavailable')
    return { reason: sentence('results.place_away'), inMs: pauseAfter(attempts), storageError };
  if (isQuota) return overQuota;
  return lost(sentence('results.too_large'));
}
