import { isOver } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { resultErrors } from '../errors.ts';
import type { LinkLimits, LinkTerms, ResultDeps } from '../types.ts';
import { artifactCapability } from './artifact-links.ts';
import { readLinkVersion } from './link-versions.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
/** The longest life that a client may ask for. */
const MAX_LIFE = 366 * DAY;

/** An absolute link that works without an API key. `expiresAt`: Unix seconds; 0: never. */
export type IssuedLink = { url: string; expiresAt: number };

type LinkIssuer = (task: Pick<TaskRecord, 'taskId' | 'linkVersions'>) => (artifactKey: string) => IssuedLink;

/**
 * Makes links to results of a user's tasks. Expiries are rounded up to full hours, so that links
 * stay the same; not where `lifeSeconds` asks for one: that is exact.
 */
export async function createLinkIssuer(
  { store, clock, links }: ResultDeps,
  userId: number,
  { base, lifeSeconds }: { base: string; lifeSeconds?: number | undefined },
): Promise<LinkIssuer> {
  const { days } = links.limits;
  const longest = days === 0 ? 0 : Math.ceil((clock.unix() + days * DAY) / HOUR) * HOUR;
  const expiresAt = lifeSeconds === undefined ? longest : clock.unix() + lifeSeconds;
  const version = (await store.users.byId(userId))?.linkVersion ?? 0;
  return (task) => (artifactKey) => {
    const { taskId } = task;
    const terms = { expiresAt, version, taskVersion: readLinkVersion(task, artifactKey) };
    const access = artifactCapability(links.secrets[0], { taskId, artifactKey }, terms);
    const url = `${base}/v1/tasks/${taskId}/artifacts/${encodeURIComponent(artifactKey)}/content?access=${access}`;
    return { url, expiresAt };
  };
}

/** Issues the links of one task. */
export const issueArtifactLinks = async (
  deps: ResultDeps,
  task: TaskRecord,
  life: { base: string; lifeSeconds?: number | undefined },
): Promise<ReturnType<LinkIssuer>> => (await createLinkIssuer(deps, task.userId, life))(task);

/**
 * Checks the life that a client asks for its links.
 * @throws tasks.artifact_life_invalid
 */
export function readLinkLife({ links }: Pick<ResultDeps, 'links'>, text: string): number {
  const longest = Math.min(MAX_LIFE, links.limits.days === 0 ? MAX_LIFE : links.limits.days * DAY);
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= longest) return seconds;
  throw resultErrors.artifact_life_invalid({
    message: `expires_in must be a number of seconds from 1 to ${longest}.`,
    param: 'expires_in',
  });
}

/**
 * Whether a link has expired. A link without an expiry was made while links had none; it expires
 * `days` after its task's end.
 */
type LinkClock = { clock: ResultDeps['clock']; links: { limits: Pick<LinkLimits, 'days'> } };

export function isLinkExpired(
  { clock, links }: LinkClock,
  { expiresAt }: LinkTerms,
  { finishTime }: Pick<TaskRecord, 'finishTime'>,
): boolean {
  const { days } = links.limits;
  // Rounded up to a full hour.
  if (expiresAt > 0) return isOver(expiresAt, { now: clock.unix(), longest: Math.max(MAX_LIFE, days * DAY) + HOUR });
  return days > 0 && clock.unix() >= finishTime + days * DAY;
}
