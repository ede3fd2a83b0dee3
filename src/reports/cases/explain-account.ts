import { explainBill } from '../../billing/index.ts';
import { quoted, type Sentence, sentence } from '../../kernel/index.ts';
import {
  type AdminUserRecord,
  type ChannelRecord,
  type LedgerEntryRecord,
  STATUS,
  type Store,
  type TaskRecord,
} from '../../store/ports/index.ts';
import type { ChannelHistoryReader } from '../read-channel-health.ts';
import type { UsageReader } from '../report-usage.ts';
import { type CaseAudience, type CaseContent, type CaseFile, type CaseLine, listFacts, toUsd } from './case-file.ts';

const DAY = 86_400;
const USER_DAYS = 30;
const CHANNEL_HOURS = 24;
const MOST_REASONS = 10;
/** Lines of the statement that are shown. */
const LINES = 20;

type Failures = CaseFile['failures'];

/** How an account stands, and what its tasks of the last days came to. */
export async function explainUser(
  { store, usage, now }: { store: Store; usage: UsageReader; now: number },
  user: AdminUserRecord,
  audience: CaseAudience,
): Promise<CaseContent> {
  const toDay = Math.floor(now / DAY);
  const period = { fromDay: toDay - USER_DAYS + 1, toDay, zone: 'UTC' };
  const since = period.fromDay * DAY;
  const [{ totals }, counts, { items }] = await Promise.all([
    usage({ period, by: 'model', only: { userId: user.id } }),
    store.tasks.failureReasons({ userId: user.id, since }, MOST_REASONS),
    store.ledger.list(user.id, { page: 1, pageSize: LINES }),
  ]);
  const failures = counts.map(({ reason, sentence: said, count: tasks }) => ({ reason, sentence: said, tasks }));
  const isEnabled = user.status === STATUS.enabled;
  const isEmpty = user.quota <= 0;
  return {
    title: user.username,
    language: user.language,
    answer: [
      // What keeps them from new tasks, what became of those before, then how much is left.
      ...(isEnabled ? [] : [sentence('cases.user_disabled')]),
      ...(isEmpty ? [sentence('cases.user_empty')] : []),
      totals.succeeded + totals.failed === 0
        ? sentence('cases.user_idle')
        : sentence('cases.user_tasks', {
            succeeded: totals.succeeded,
            failed: totals.failed,
            amount: toUsd(totals.spend),
          }),
      ...describeFailures(failures, totals.failed),
      ...(isEmpty ? [] : [sentence('cases.user_balance', { amount: toUsd(user.quota) })]),
    ],
    facts: listFacts(
      { name: 'status', as: 'state', value: isEnabled ? 'enabled' : 'disabled' },
      { name: 'group', as: 'text', value: user.group },
      { name: 'balance', as: 'quota', value: user.quota },
      { name: 'spent_ever', as: 'quota', value: user.usedQuota },
      { name: 'spent_30_days', as: 'quota', value: totals.spend },
      { name: 'succeeded_30_days', as: 'number', value: totals.succeeded },
      { name: 'failed_30_days', as: 'number', value: totals.failed },
      user.requestsPerMinute !== null && { name: 'requests_per_minute', as: 'number', value: user.requestsPerMinute },
      user.maxRunning !== null && { name: 'max_running', as: 'number', value: user.maxRunning },
      { name: 'created', as: 'time', value: user.createdAt },
      user.lastLoginAt > 0 && { name: 'last_sign_in', as: 'time', value: user.lastLoginAt },
    ),
    said: null,
    money: null,
    timeline: [],
    failures,
    // What administrators noted of a change is among themselves.
    ledger: await mergeTasks(
      store,
      items.map((line) =>
        audience === 'user' && line.noteSentence === null && line.actorId !== null ? { ...line, note: '' } : line,
      ),
    ),
  };
}

/** The lines of each task as one, with what came of them; the newest first. */
async function mergeTasks(store: Store, lines: readonly LedgerEntryRecord[]): Promise<CaseLine[]> {
  const ids = [...new Set(lines.flatMap(({ taskId }) => taskId ?? []))];
  const found = await Promise.all(ids.map((id) => store.tasks.byTaskId(id)));
  const merged = found.flatMap((task) => (task ? mergeLines(task, lines) : []));
  const known = new Set(merged.map(({ taskId }) => taskId));
  const others = lines.filter(({ taskId }) => taskId === null || !known.has(taskId));
  return [...merged, ...others].sort((one, other) => other.createdAt - one.createdAt);
}

function mergeLines(task: TaskRecord, lines: readonly LedgerEntryRecord[]): CaseLine {
  const latest = lines
    .filter(({ taskId }) => taskId === task.taskId)
    .reduce((one, other) => (other.createdAt > one.createdAt ? other : one));
  const { reserved, settled } = explainBill(task);
  const isRefunded = task.status === 'FAILURE' && !settled;
  const isCharged = task.status === 'SUCCESS' || task.status === 'FAILURE';
  return {
    kind: isRefunded ? 'task_refunded' : isCharged ? 'task_charged' : 'task_reserved',
    amount: isRefunded ? 0 : -(settled ?? reserved),
    reserved,
    note: latest.note,
    noteSentence: latest.noteSentence,
    taskId: task.taskId,
    createdAt: latest.createdAt,
    model: task.properties.originModelName,
  };
}

/** Whether a channel serves, and why its tasks failed. */
export async function explainChannel(
  { store, history, isResting }: { store: Store; history: ChannelHistoryReader; isResting: boolean },
  channel: ChannelRecord,
): Promise<CaseContent> {
  const [{ totals, failures: found }, all] = await Promise.all([
    history(channel.id, CHANNEL_HOURS),
    store.credentials.ofChannel(channel.id),
  ]);
  const failures = found
    .slice(0, MOST_REASONS)
    .map(({ reason, reasonSentence, tasks }) => ({ reason, sentence: reasonSentence, tasks }));
  const credentials = all.filter(({ removedAt }) => removedAt === 0);
  const name = ({ label, id }: (typeof credentials)[number]): string => label || `#${id}`;
  const isEnabled = channel.status === STATUS.enabled;
  const refused = credentials.filter(({ lastErrorAt }) => lastErrorAt > 0);
  const state = isResting ? sentence('cases.channel_resting') : sentence('cases.channel_ready');
  return {
    title: channel.name,
    language: '',
    answer: [
      isEnabled ? state : sentence('cases.channel_disabled'),
      ...refused.map((each) =>
        sentence('cases.channel_key_refused', {
          key: name(each),
          fault: each.lastErrorSentence
            ? { message: each.lastError, ...each.lastErrorSentence }
            : quoted(each.lastError),
        }),
      ),
      totals.succeeded + totals.failed === 0
        ? sentence('cases.channel_idle')
        : sentence('cases.channel_tasks', { succeeded: totals.succeeded, failed: totals.failed }),
      ...describeFailures(failures, totals.failed),
    ],
    facts: listFacts(
      { name: 'status', as: 'state', value: isEnabled ? (isResting ? 'resting' : 'enabled') : 'disabled' },
      { name: 'plugin', as: 'text', value: channel.taskPluginKey ?? '', id: channel.taskPluginKey ?? '' },
      { name: 'models', as: 'number', value: channel.models.length },
      { name: 'groups', as: 'text', value: channel.groups.join(', ') },
      { name: 'priority', as: 'number', value: channel.priority },
      { name: 'credential', as: 'text', value: credentials.map(name).join(', ') },
      { name: 'succeeded_24_hours', as: 'number', value: totals.succeeded },
      { name: 'failed_24_hours', as: 'number', value: totals.failed },
      totals.p50Seconds !== undefined && { name: 'usual_time', as: 'seconds', value: totals.p50Seconds },
      { name: 'charged_ever', as: 'quota', value: channel.usedQuota },
      { name: 'created', as: 'time', value: channel.createdAt },
    ),
    said: null,
    money: null,
    timeline: [],
    failures,
    ledger: [],
  };
}

/** Why the only task failed, or what several failed of. */
function describeFailures([most]: Failures, failed: number): Sentence[] {
  if (!most || (most.tasks === 1 && failed > 1)) return [];
  const { reason: message, sentence: said, tasks: count } = most;
  const fault = said ? { message, ...said } : quoted(message);
  return [count === 1 ? sentence('cases.only_failure', { fault }) : sentence('cases.most_failures', { count, fault })];
}
