import { isOver } from '../../kernel/index.ts';
import { STATUS, type UserRecord } from '../../store/ports/index.ts';
import type { ResultDeps } from '../types.ts';
import { readLinkVersion } from './link-versions.ts';
import { artifactCapability, verifyCapability } from './sign-artifact-links.ts';

const DAY = 86_400;
/** The lives that a link to a case file may have, in days. */
const MAX_CASE_LINK_DAYS = 30;

/** What a shared case file is about, and for whom it was made: its user, or operators. */
export type SharedCase = { kind: 'task' | 'user' | 'channel'; id: string; audience: 'user' | 'operator' };

type OpenedLink = { issuer: UserRecord; audience: SharedCase['audience']; expiresAt: number };

export type CaseLinks = {
  /** `days`: 1 to 30. */
  issue(shared: SharedCase, issuer: { id: number; days: number }): Promise<{ access: string; expiresAt: number }>;
  /**
   * Finds who shared the link, with the rights that they have now, and for whom they made it.
   * Undefined when the link is not genuine, or has expired or been revoked.
   * @throws tasks.artifact_access_limited for too many that are not genuine
   */
  open(link: Omit<SharedCase, 'audience'> & { access: string; address: string }): Promise<OpenedLink | undefined>;
};

/** `operator.12.1767225600.0.<signature>`: for whom, who shared it, and the signed terms. */
const ACCESS = /^(user|operator)\.(\d{1,15})\.(\d{1,12}\.\d{1,12}\.[\w-]{43}|\d{1,12}\.\d{1,12}\.\d{1,12}\.[\w-]{43})$/;

/**
 * Links to case files. They are signed and ended like links to artifacts: by their expiry, by
 * "revoke all links" of the person who shared them, and by that of the task. No task's id has a
 * colon, so neither kind of link opens the other. A link shows what its issuer may see at the
 * moment, so it ends with their rights.
 */
export function createCaseLinks({ store, clock, links }: Pick<ResultDeps, 'store' | 'clock' | 'links'>): CaseLinks {
  const subject = ({ kind, id, audience }: SharedCase, issuerId: number) => ({
    taskId: `case:${kind}:${id}`,
    artifactKey: `case:${audience}:${issuerId}`,
  });

  async function taskVersion({ kind, id }: Pick<SharedCase, 'kind' | 'id'>): Promise<number> {
    const task = kind === 'task' ? await store.tasks.byTaskId(id) : undefined;
    return task ? readLinkVersion(task, 'case:') : 0;
  }

  return {
    async issue(shared, { id, days }) {
      const expiresAt = clock.unix() + Math.min(days, MAX_CASE_LINK_DAYS) * DAY;
      const version = (await store.users.byId(id))?.linkVersion ?? 0;
      const terms = { expiresAt, version, taskVersion: await taskVersion(shared) };
      const signed = artifactCapability(links.secrets[0], subject(shared, id), terms);
      return { access: `${shared.audience}.${id}.${signed}`, expiresAt };
    },
    async open({ kind, id, access, address }) {
      const [, audience, issuerId, signed] = ACCESS.exec(access) ?? [];
      const shared = { kind, id, audience: audience === 'operator' ? audience : 'user' } as const;
      const terms =
        signed === undefined ? undefined : verifyCapability(links.secrets, subject(shared, Number(issuerId)), signed);
      // One without an expiry was not made here.
      if (!terms || terms.expiresAt === 0) {
        await links.guard.countInvalid(address);
        return undefined;
      }
      const issuer = await store.users.byId(Number(issuerId));
      const isCurrent =
        issuer?.status === STATUS.enabled &&
        issuer.linkVersion === terms.version &&
        (await taskVersion(shared)) === (terms.taskVersion ?? 0);
      const isExpired = isOver(terms.expiresAt, { now: clock.unix(), longest: MAX_CASE_LINK_DAYS * DAY });
      return !isCurrent || isExpired ? undefined : { issuer, audience: shared.audience, expiresAt: terms.expiresAt };
    },
  };
}
