import { type Clock, defineErrors } from '../../kernel/index.ts';
import { type ChannelRecord, ROLE, type Role, type Store, type TaskRecord } from '../../store/ports/index.ts';
import type { ChannelHistoryReader } from '../read-channel-health.ts';
import type { UsageReader } from '../report-usage.ts';
import type { CaseAudience, CaseContent, CaseFile, CaseKind } from './case-file.ts';
import { explainChannel, explainUser } from './explain-account.ts';
import { explainTask } from './explain-task.ts';

export const caseErrors = defineErrors('reports', {
  case_not_found: ['not_found', 'There is nothing of this id that you may read.'],
});

const MOST_AUDIT = 20;

/** The person who reads it, or who has shared it, with their current rights. */
export type CaseReader = { id: number; role: Role };
/** `isShared`: by a link, for people who are not signed in. */
export type CaseQuestion = {
  kind: CaseKind;
  id: string;
  audience: CaseAudience;
  reader: CaseReader;
  isShared?: boolean;
};
export type CaseFileReader = (question: CaseQuestion) => Promise<CaseFile>;

type CaseDeps = {
  store: Store;
  clock: Clock;
  usage: UsageReader;
  history: ChannelHistoryReader;
  isResting: (channel: ChannelRecord) => boolean;
};

/**
 * Explains a task, an account or a channel to those who may read it: users their own tasks as
 * owners see them; administrators every task, every channel and the accounts below their rank; root
 * also who changed it. Anything else is as if it did not exist. No link shows a task that its owner
 * has deleted, or whose owner has left: neither do links to its artifacts.
 * @throws reports.case_not_found
 */
export function createCaseFileReader({ store, clock, usage, history, isResting }: CaseDeps): CaseFileReader {
  const isPresent = async ({ hiddenAt, userId }: TaskRecord): Promise<boolean> =>
    hiddenAt === 0 && (await store.users.byId(userId)) !== undefined;

  async function read({ kind, id, audience, reader, isShared }: CaseQuestion): Promise<CaseContent | undefined> {
    const isAdmin = reader.role >= ROLE.admin;
    if (!isAdmin && (kind !== 'task' || audience !== 'user')) return undefined;
    if (kind === 'task') {
      const task = await store.tasks.byTaskId(id);
      const isReadable = task && (isAdmin || (task.userId === reader.id && task.hiddenAt === 0));
      return isReadable && (!isShared || (await isPresent(task))) ? explainTask(store, task, audience) : undefined;
    }
    const number = /^\d{1,15}$/.test(id) ? Number(id) : 0;
    if (kind === 'channel') {
      const channel = audience === 'operator' ? await store.channels.byId(number) : undefined;
      return channel && explainChannel({ store, history, isResting: isResting(channel) }, channel);
    }
    const user = await store.users.adminById(number);
    const isReadable =
      user?.deletedAt === 0 && (reader.role === ROLE.root || user.id === reader.id || user.role < reader.role);
    return isReadable ? explainUser({ store, usage, now: clock.unix() }, user, audience) : undefined;
  }

  return async (question) => {
    const { kind, id, audience, reader } = question;
    const content = await read(question);
    if (!content) throw caseErrors.case_not_found();
    const isAudited = audience === 'operator' && reader.role === ROLE.root;
    const audit = isAudited ? await store.logs.readAudit({ target: `${kind}:${id}` }, { limit: MOST_AUDIT }) : [];
    return {
      ...{ kind, id, audience, madeAt: clock.unix() },
      ...content,
      audit: audit.map(({ createdAt: at, username, action }) => ({ at, username, action })),
    };
  };
}
