import { isOver } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { VIDEO_LINK } from '../artifacts/artifact-keys.ts';
import { resultErrors } from '../errors.ts';
import type { LinkLimits, LinkTerms, ResultDeps } from '../types.ts';
import { readLinkVersion } from './link-versions.ts';
import { artifactCapability } from './sign-artifact-links.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
/** The longest life that a client may ask for. */
const MAX_LIFE = 366 * DAY;

/** An absolute link that works without an API key. `expiresAt`: Unix seconds; 0: never. */
export type IssuedLink = { url: string; expiresAt: number };

type LinkedTask = Pick<TaskRecord, 'taskId' | 'linkVersions'>;
type LinkIssuer = (task: LinkedTask) => (artifactKey: string) => IssuedLink;
/** The link to the video of a task that succeeded; undefined for other tasks. */
export type LinkVideo = (task: LinkedTask & Pick<TaskRecord, 'status'>) => string | undefined;

/**
 * Makes links to results of a user's tasks. Expiries are rounded up to full hours, so that links
 * stay the same; not where `lifeSeconds` asks for one: that is exact.
 */
export async function createLinkIssuer(
  deps: ResultDeps,
  userId: number,
  { base, lifeSeconds }: { base: string; lifeSeconds?: number | undefined },
): Promise<LinkIssuer> {
  const { expiresAt, sign } = await createSigner(deps, userId, lifeSeconds);
  return (task) => (artifactKey) => {
    const path = `/v1/tasks/${task.taskId}/artifacts/${encodeURIComponent(artifactKey)}/content`;
    return { url: `${base}${path}?access=${sign(task, artifactKey)}`, expiresAt };
  };
}

/** Makes links to the videos of a user's tasks; none where the gateway knows no own address. */
export async function createVideoLinks(deps: ResultDeps, userId: number): Promise<LinkVideo> {
  const base = deps.links.publicAddress();
  if (base === undefined) return () => undefined;
  const { sign } = await createSigner(deps, userId);
  return (task) =>
    task.status === 'SUCCESS' ? `${base}/v1/videos/${task.taskId}/content?access=${sign(task, VIDEO_LINK)}` : undefined;
}

/**
 * `version` is the account's: `auth/administration/edit-user.ts` raises it where all links of an
 * account are revoked. `link-versions.ts` has those of one task.
 */
async function createSigner({ store, clock, links }: ResultDeps, userId: number, lifeSeconds?: number) {
  const { days } = links.limits;
  const longest = days === 0 ? 0 : Math.ceil((clock.unix() + days * DAY) / HOUR) * HOUR;
  const expiresAt = lifeSeconds === undefined ? longest : clock.unix() + lifeSeconds;
  const version = (await store.users.byId(userId))?.linkVersion ?? 0;
  const sign = (task: LinkedTask, artifactKey: string): string => {
    const terms = { expiresAt, version, taskVersion: readLinkVersion(task, artifactKey) };
    return artifactCapability(links.secrets[0], { taskId: task.taskId, artifactKey }, terms);
  };
  return { expiresAt, sign };
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

type LinkClock = { clock: ResultDeps['clock']; links: { limits: Pick<LinkLimits, 'days'> } };

/**
 * Whether a link has expired. A link without an expiry was made while links had none; it expires
 * `days` after its task's end.
 */
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
