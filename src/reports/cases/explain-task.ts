import { explainBill } from '../../billing/index.ts';
import { quoted, type Sentence, sentence } from '../../kernel/index.ts';
import type { Store, TaskEventRecord, TaskRecord } from '../../store/ports/index.ts';
import { type CaseAudience, type CaseContent, type CaseFact, listFacts, toUsd } from './case-file.ts';

/** What a task went through, what it cost, and what to tell its user. */
export async function explainTask(store: Store, task: TaskRecord, audience: CaseAudience): Promise<CaseContent> {
  const [events, ledger, [named], user, credential] = await Promise.all([
    store.tasks.events(task.taskId),
    store.ledger.byTask(task.taskId),
    store.tasks.byIds([task.id]),
    store.users.byId(task.userId),
    task.credentialId === null ? undefined : store.credentials.byId(task.credentialId),
  ]);
  const { reserved, settled } = explainBill(task);
  const seen = events.filter(({ kind }) => kind !== 'passed_over' || audience === 'operator');
  const failed = task.status === 'FAILURE';
  const channel = named?.channelName ?? '';
  return {
    title: task.properties.originModelName,
    language: user?.language ?? '',
    answer: answerForTask(task, { reserved, settled }),
    facts: [
      ...describeFacts(task, named?.keyName ?? ''),
      ...(audience === 'operator'
        ? listFacts(
            { name: 'user', as: 'text', value: named?.username ?? '', id: task.userId },
            {
              name: 'channel',
              as: 'text',
              value: channel || `#${task.channelId}`,
              ...(channel === '' ? {} : { id: task.channelId }),
            },
            // Never its last characters: a label says which one it is.
            { name: 'credential', as: 'text', value: credential ? credential.label || `#${credential.id}` : '' },
            { name: 'upstream_model', as: 'text', value: task.properties.upstreamModelName },
            { name: 'vendor_id', as: 'text', value: task.upstreamTaskId },
            { name: 'polls', as: 'number', value: task.polls },
            { name: 'poll_failures', as: 'number', value: task.pollFailures },
          )
        : []),
    ],
    said: failed ? { text: task.failReason, sentence: task.failReasonSentence, httpStatus: lastStatus(seen) } : null,
    money: { reserved, charged: settled, refunded: settled === null ? 0 : Math.max(0, reserved - settled) },
    timeline: seen.map(({ id: _, taskId: __, ...event }) =>
      event.kind === 'passed_over' ? { ...event, detail: withoutKeys(event.detail) } : event,
    ),
    failures: [],
    ledger,
  };
}

const describeFacts = (task: TaskRecord, keyName: string): CaseFact[] =>
  listFacts(
    { name: 'status', as: 'state', value: task.status },
    { name: 'task', as: 'text', value: task.taskId },
    { name: 'model', as: 'text', value: task.properties.originModelName },
    {
      ...{ name: 'plugin', as: 'text', id: task.platform },
      value: `${task.platform} ${task.execution.pluginVersion}`.trim(),
    },
    { name: 'api_key', as: 'text', value: keyName, ...(task.apiKeyId === null ? {} : { id: task.apiKeyId }) },
    { name: 'group', as: 'text', value: task.group },
    { name: 'request_id', as: 'text', value: task.execution.requestId },
    { name: 'submitted', as: 'time', value: task.createdAt },
    task.submitTime > 0 && { name: 'sent', as: 'time', value: task.submitTime },
    task.submitTime > 0 && task.startTime > 0 && { name: 'started', as: 'time', value: task.startTime },
    task.finishTime > 0 && { name: 'ended', as: 'time', value: task.finishTime },
    task.finishTime > 0 &&
      task.submitTime > 0 && { name: 'took', as: 'seconds', value: Math.max(0, task.finishTime - task.submitTime) },
  );

/** `#3 (its label, or the last characters of a key) price, #4 key`: the channels alone. */
const withoutKeys = (channels: string): string =>
  channels
    .split(', #')
    .map((one) => {
      const [from, to] = [one.indexOf(' ('), one.lastIndexOf(') ')];
      return from >= 0 && to > from ? one.slice(0, from) + one.slice(to + 1) : one;
    })
    .join(', #');

const lastStatus = (events: readonly TaskEventRecord[]): number =>
  events.findLast(({ httpStatus }) => httpStatus > 0)?.httpStatus ?? 0;

type Bill = { reserved: number; settled: number | null };

/** What to write to the user, by rules alone. */
function answerForTask(task: TaskRecord, bill: Bill): Sentence[] {
  if (task.status === 'SUCCESS') {
    const seconds = Math.max(0, task.finishTime - task.createdAt);
    return [sentence('cases.task_succeeded', { seconds }), describeCharge(bill)];
  }
  if (task.status !== 'FAILURE') {
    const state = task.phase === 'waiting' ? sentence('cases.task_waiting') : sentence('cases.task_running');
    return [state, ...(bill.reserved > 0 ? [sentence('cases.reserved', { amount: toUsd(bill.reserved) })] : [])];
  }
  const { failReasonSentence: said, failReason: message } = task;
  const fault = said ? { message, ...said } : quoted(message);
  const advice = adviseUser(task);
  return [
    sentence('cases.task_failed', { fault }),
    bill.reserved > 0 ? sentence('cases.refunded', { amount: toUsd(bill.reserved) }) : sentence('cases.free'),
    ...(advice ? [advice] : []),
  ];
}

function describeCharge({ reserved, settled }: Bill): Sentence {
  const charged = settled ?? reserved;
  if (charged === 0) return sentence('cases.free');
  const amounts = { reserved: toUsd(reserved), amount: toUsd(charged) };
  if (charged < reserved) return sentence('cases.charged_less', amounts);
  return charged > reserved
    ? sentence('cases.charged_more', amounts)
    : sentence('cases.charged', { amount: amounts.amount });
}

/** Reasons whose cause the user knows: they did it themselves. */
const OWN_DOING = new Set(['tasks.cancelled', 'tasks.task_cancelled', 'tasks.client_left', 'tasks.caller_disabled']);
/** Reasons of the operator's accounts and settings. */
const OF_OPERATOR = new Set([
  'tasks.credential_refused',
  'tasks.poll_credential',
  'tasks.vendor_quota_exhausted',
  'tasks.channel_deleted',
  'tasks.plugin_gone',
  'tasks.plugin_away',
  'tasks.interrupted',
  'tasks.restored',
]);
const OF_LOAD = new Set(['tasks.wait_over', 'tasks.own_wait_over', 'tasks.timed_out', 'tasks.vendor_busy']);

function adviseUser({ failReasonSentence, execution: { failure } }: TaskRecord): Sentence | undefined {
  const reason = failReasonSentence?.reason ?? '';
  const code = failure?.code ?? '';
  const isOneOf = (set: ReadonlySet<string>): boolean => set.has(reason) || set.has(code);
  if (isOneOf(OWN_DOING)) return undefined;
  if (code === 'tasks.content_policy_violation' || reason === 'tasks.content_policy_violation')
    return sentence('cases.advice_content');
  if (isOneOf(OF_OPERATOR)) return sentence('cases.advice_operator');
  if (isOneOf(OF_LOAD)) return sentence('cases.advice_busy');
  switch (failure?.kind) {
    case 'invalid':
    case 'unprocessable':
      return sentence('cases.advice_request');
    case 'rate_limited':
    case 'unavailable':
    case 'upstream_timeout':
      return sentence('cases.advice_busy');
    case 'internal':
      return sentence('cases.advice_operator');
    default:
      return sentence('cases.advice_vendor');
  }
}
