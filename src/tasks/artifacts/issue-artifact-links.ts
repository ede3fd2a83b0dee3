import type { TaskRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { artifactCapability, type LinkTerms } from './artifact-links.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** An absolute link that works without an API key. `expiresAt`: Unix seconds; 0: never. */
export type IssuedLink = { url: string; expiresAt: number };

/**
 * Makes the links of one task. Expiries are rounded up to full hours, so that links stay the same.
 */
export async function issueArtifactLinks(
  { store, clock, limits, cryptoSecrets: [secret] }: TaskDeps,
  { taskId, userId }: TaskRecord,
  base: string,
): Promise<(artifactKey: string) => IssuedLink> {
  const { days } = limits.links;
  const expiresAt = days === 0 ? 0 : Math.ceil((clock.unix() + days * DAY) / HOUR) * HOUR;
  const terms = { expiresAt, version: (await store.users.byId(userId))?.linkVersion ?? 0 };
  return (artifactKey) => {
    const access = artifactCapability(secret, { taskId, artifactKey }, terms);
    const url = `${base}/v1/tasks/${taskId}/artifacts/${encodeURIComponent(artifactKey)}/content?access=${access}`;
    return { url, expiresAt };
  };
}

/**
 * Whether a link has expired. A link without an expiry was made while links had none; it expires
 * `days` after its task's end.
 */
export function isLinkExpired(
  { clock, limits }: Pick<TaskDeps, 'clock' | 'limits'>,
  { expiresAt }: LinkTerms,
  { finishTime }: TaskRecord,
): boolean {
  const { days } = limits.links;
  if (expiresAt > 0) return clock.unix() >= expiresAt;
  return days > 0 && clock.unix() >= finishTime + days * DAY;
}
