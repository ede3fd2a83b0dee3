import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A fault planted in the product's source: each text must stand there exactly once. */
export type Mutant = {
  name: string;
  /** It takes several nodes to show. */
  postgres?: boolean;
  edits: readonly { file: string; search: string; replace: string }[];
};

const FINISH = 'src/tasks/state/finish-task.ts';
const ATTEMPT = 'src/tasks/submission/attempt-channels.ts';
const TURNS = 'src/store/repositories/tasks/waiting-turns.ts';
const CAPACITY = 'src/store/repositories/tasks/capacity.ts';
const CHANNELS = 'src/channels/channels.ts';
const DISPATCHER = 'src/tasks/dispatch/dispatcher.ts';
const ENGINE = 'src/tasks/polling/poll-engine.ts';
const RELAY_BILLING = 'src/relay/usage/reserve-and-bill.ts';
const HOLDS = 'src/billing/memory-holds.ts';
const MONEY_WRITES = 'src/tasks/state/batch-money-writes.ts';
const OPEN_TASKS = 'src/tasks/state/open-tasks.ts';

/** What keeps a mutant from being planted in the source: its text does not stand there once. */
export function findMismatches(root: string): string[] {
  return MUTANTS.flatMap(({ name, edits }) =>
    edits.flatMap(({ file, search }) => {
      const times = readFileSync(join(root, file), 'utf8').split(search).length - 1;
      return times === 1 ? [] : [`"${name}" does not apply: ${file} has ${times} times, not once:\n${search}`];
    }),
  );
}

/** What the rules must find. Keep a mutant when its source changes: change its texts. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a refund is forgotten',
    edits: [
      {
        file: 'src/billing/settle.ts',
        search: `return line.amount === 0 ? [] :`,
        replace: `return line.amount === 0 || line.kind === 'refund' ? [] :`,
      },
    ],
  },
  {
    name: 'a settlement charges what was reserved, whatever was used',
    edits: [
      {
        file: 'src/billing/settle.ts',
        search: `{ kind: 'settle' as const, amount: task.quota - bill.quota }`,
        replace: `{ kind: 'settle' as const, amount: 0 }`,
      },
    ],
  },
  {
    name: 'a reservation does not ask what is left',
    edits: [
      {
        file: 'src/store/repositories/money/decide-reservations.ts',
        search: ' || left - ofWallet - held.wallet < needed)',
        replace: ')',
      },
    ],
  },
  {
    name: 'money moves although the task had ended',
    edits: [{ file: FINISH, search: 'if (!isAdvanced) return false;', replace: 'void isAdvanced;' }],
  },
  {
    name: 'a poll moves a task back',
    edits: [
      {
        file: 'src/tasks/polling/apply-verdict.ts',
        search: 'const moved = ORDER[verdict.status] > ORDER[task.status];',
        replace: 'const moved = verdict.status !== task.status;',
      },
    ],
  },
  {
    name: 'the vendor is asked before the order is stored',
    edits: [
      {
        file: ATTEMPT,
        search: '        if (!task && run.open) {\n',
        replace: '        early = await sendSubmission(deps, prepared);\n        if (!task && run.open) {\n',
      },
      {
        file: ATTEMPT,
        search: 'let prepared: PreparedSubmission;',
        replace: 'let prepared: PreparedSubmission;\n      let early: any;',
      },
      {
        file: ATTEMPT,
        search: 'const attempt = await sendSubmission(deps, prepared);',
        replace: 'const attempt = early;',
      },
    ],
  },
  {
    name: 'an order in doubt is sent through another channel',
    edits: [
      {
        file: 'src/tasks/submission/send-submission.ts',
        search: 'const mayTryAnother = notSent ||',
        replace: 'const mayTryAnother = true ||',
      },
    ],
  },
  {
    name: 'clients are told to repeat an order in doubt',
    edits: [
      {
        file: 'src/vendors/answer/retry-advice.ts',
        search: `if (!notSent) return 'in_doubt';`,
        replace: `if (!notSent) return 'not_sent';`,
      },
    ],
  },
  {
    name: 'an Idempotency-Key is not taken with its task',
    edits: [
      {
        file: OPEN_TASKS,
        search: 'const taken = await Promise.all(keys.map(({ record }) => tx.idempotency.take(record)));',
        replace: 'const taken = keys.map(() => true);',
      },
    ],
  },
  {
    name: 'an interrupted submission is never ended',
    edits: [
      {
        file: ENGINE,
        search: `loops.push(every(INTERRUPTED_EVERY_MS[store.dialect], 'ending interrupted submissions', refund));`,
        replace: '',
      },
    ],
  },
  {
    name: 'a webhook is written beside the transaction of its end',
    edits: [
      { file: FINISH, search: '    await recordTransition(deps, tx, { task, change: final });\n', replace: '' },
      {
        file: FINISH,
        search: '  if (ended) {\n',
        replace:
          '  if (ended) {\n    await deps.store.transaction((tx) => recordTransition(deps, tx, { task, change: final }));\n',
      },
    ],
  },
  {
    name: 'a webhook overtakes the one before it',
    edits: [
      {
        file: 'src/store/repositories/tasks/outbox.ts',
        search: 'where earlier.task_id = ',
        replace: 'where 1 = 0 and earlier.task_id = ',
      },
      {
        file: 'src/store/repositories/tasks/outbox.ts',
        search: 'union all select next_attempt_at from webhook_outbox where ',
        replace: 'union all select next_attempt_at from webhook_outbox where 1 = 0 and ',
      },
    ],
  },
  {
    name: 'Retry-After is obeyed without bound',
    edits: [
      {
        file: 'src/upstream/failures.ts',
        search: 'MAX_RETRY_AFTER_MS = 5 * 60_000',
        replace: 'MAX_RETRY_AFTER_MS = 500 * 60_000',
      },
    ],
  },
  {
    name: 'a copy is not written with the end of its task',
    edits: [
      {
        file: FINISH,
        search: '    wantsResults = succeeded && isRetained && (await scheduleResultCopies(deps, tx, task));\n',
        replace: '    wantsResults = succeeded && isRetained;\n',
      },
      {
        file: FINISH,
        search: '  if (ended) {\n',
        replace:
          '  if (ended) {\n    if (succeeded) await deps.store.transaction((tx) => scheduleResultCopies(deps, tx, task));\n',
      },
    ],
  },
  {
    name: 'the lease of a submission is not renewed',
    postgres: true,
    edits: [{ file: 'src/tasks/submission/renew-lease.ts', search: 'void renewOne(lease);', replace: '' }],
  },
  {
    name: 'a task that waits counts as interrupted',
    edits: [
      {
        file: 'src/store/repositories/tasks/claim-tasks.ts',
        search: `sql\`\${tasks.status} = 'NOT_START' and \${tasks.phase} = 'sending' and (`,
        replace: `sql\`\${tasks.status} = 'NOT_START' and (`,
      },
    ],
  },
  {
    name: 'a task that is being sent takes no slot',
    postgres: true,
    edits: [
      {
        file: CAPACITY,
        search: "import { IS_SENDING } from './claim-tasks.ts';",
        replace: `import { IS_OPEN } from './claim-tasks.ts';

const IS_SENDING = sql\`\${IS_OPEN} and tasks.status <> 'NOT_START'\`;`,
      },
    ],
  },
  {
    name: 'an abandoned slot is free at once',
    edits: [
      {
        file: CAPACITY,
        search: 'sql`tasks.slot_until > 0 and tasks.slot_until > ${nowSeconds}\n',
        replace: 'sql`tasks.slot_until > 0 and tasks.slot_until > ${nowSeconds} + 100000\n',
      },
    ],
  },
  {
    name: 'a wait that is over is not refunded',
    edits: [
      {
        file: MONEY_WRITES,
        search: 'ending.map(({ ended }) => ended),',
        replace: 'ending.filter(({ taken }) => !taken?.().length).map(({ ended }) => ended),',
      },
    ],
  },
  {
    name: 'the turn of a user is not advanced',
    edits: [
      {
        file: TURNS,
        search: "waiting_turns.turn + cast(${at('cost')} as bigint), excluded.turn",
        replace: 'waiting_turns.turn, excluded.turn',
      },
    ],
  },
  {
    name: 'an order in doubt is put back, and sent again',
    edits: [
      { file: ATTEMPT, search: 'if (!state.vendorMayHaveJob) {', replace: 'if (task) {' },
      {
        file: 'src/tasks/submission/return-to-queue.ts',
        search: "  'vendor_busy',\n]);",
        replace: "  'vendor_busy',\n  'in_doubt',\n]);",
      },
    ],
  },
  {
    name: 'a wait has no end',
    edits: [
      {
        file: DISPATCHER,
        search: 'await store.waiting.age(MAX_BATCH, { looksAtAll });',
        replace: '[] as Awaited<ReturnType<typeof store.waiting.age>>;',
      },
    ],
  },
  {
    name: 'a freed slot wakes nobody',
    edits: [
      {
        file: DISPATCHER,
        search: 'const ms = Math.max(10, Math.min(SWEEP_MS + jitter, dueInMs));',
        replace: 'const ms = Math.max(3_600_000, dueInMs);',
      },
      { file: DISPATCHER, search: '          if (hasWaiting) wake();\n', replace: '' },
    ],
  },
  {
    name: 'what is moved to the front goes to the end',
    edits: [
      {
        file: 'src/store/repositories/tasks/queue-view.ts',
        search: '.set({ turn: 0 })',
        replace: '.set({ turn: 1e12 })',
      },
    ],
  },
  {
    name: 'a task goes on although its client was told that its wait is over',
    edits: [
      {
        file: 'src/tasks/submission/await-dispatch.ts',
        search: 'if (isWaiting(current) && (await endWaiting(deps, current, { error }))) throw error;',
        replace: 'if (isWaiting(current)) throw error;',
      },
    ],
  },
  {
    name: 'a start of the last minute does not count',
    edits: [
      {
        file: CAPACITY,
        search: "and tasks.dispatched_at > ${nowMs} - cast(${at('withinMs')} as bigint)",
        replace: "and tasks.dispatched_at > ${nowMs} - cast(${at('withinMs')} as bigint) / 10",
      },
    ],
  },
  {
    name: 'a key that the vendor refuses does not rest',
    edits: [
      {
        file: 'src/channels/capacity/capacity.ts',
        search: "if (kind === 'balance' || kind === 'credential')\n",
        replace: "if (kind === 'balance')\n",
      },
    ],
  },
  {
    name: 'a key that was removed still gets tasks',
    edits: [{ file: CHANNELS, search: 'credential.removedAt === 0),\n', replace: 'credential.removedAt >= 0),\n' }],
  },
  {
    name: 'a job is looked at with another key of its channel',
    edits: [
      {
        file: CHANNELS,
        search: 'held.get(channelId)?.find(({ credential }) => isIt(credential));',
        replace: 'held.get(channelId)?.[0];',
      },
    ],
  },
  {
    name: 'an own limit is not asked when a task is sent',
    edits: [
      {
        file: DISPATCHER,
        search: "const reached = own?.findReached(head, head.most) ?? '';",
        replace: "const reached = '' as ReturnType<NonNullable<typeof own>['findReached']>;",
      },
    ],
  },
  {
    name: 'a budget is not asked',
    edits: [
      {
        file: 'src/store/repositories/money/decide-reservations.ts',
        search: 'const exceeded = findExceeded(own, { spent: spentBySum, held }, amount);',
        replace: 'const exceeded = undefined as ReturnType<typeof findExceeded>;',
      },
    ],
  },
  {
    name: 'another model serves a client who declined it',
    edits: [
      {
        file: 'src/tasks/submission/return-to-queue.ts',
        search: ' && allowsFallback(submission),',
        replace: ',',
      },
    ],
  },
  {
    name: 'what was reserved for the first model stays reserved for another',
    edits: [
      {
        file: 'src/tasks/dispatch/fall-back.ts',
        search: '      await replace(tx, after, reserved);\n',
        replace: '',
      },
    ],
  },
  {
    name: 'what an API key has left is not asked',
    edits: [
      {
        file: 'src/store/repositories/money/decide-reservations.ts',
        search: '!isOwn || !(key.isUnlimited || key.left - ofKey - held.key >= needed)',
        replace: '!isOwn',
      },
    ],
  },
  {
    name: 'what a dead process was relaying is never refunded',
    edits: [
      {
        file: 'src/relay/relay.ts',
        search: 'await refundInterrupted(deps).catch(',
        replace: 'await Promise.resolve().catch(',
      },
    ],
  },
  {
    name: 'a relayed request in doubt is made again by a repeat',
    edits: [
      {
        file: 'src/relay/usage/refund-relay.ts',
        search: 'if (!mayBeDone) await tx.idempotency.free(',
        replace: 'await tx.idempotency.free(',
      },
    ],
  },
  {
    name: 'a relayed request moves to another account, and its reservation does not',
    edits: [
      {
        file: RELAY_BILLING,
        search: '    await replace(tx, { ...toReservedTask(relay), ...change }, { reserved: relay.quota, attempt });\n',
        replace: '',
      },
    ],
  },
  {
    name: 'usage that a stream tells twice is billed twice',
    edits: [
      {
        file: 'src/relay/usage/read-usage.ts',
        search: 'mergeReport(reported, counts, { adds: isIncrement })',
        replace: 'mergeReport(reported, counts, { adds: true })',
      },
    ],
  },
  {
    name: 'a followed request is charged without its answer',
    edits: [
      {
        file: 'src/relay/requests/deliver-answer.ts',
        search: '{ ...bill, kept, mustBeKept: intent.isFollowed }',
        replace: 'bill',
      },
    ],
  },
  {
    name: 'the row of a limit is not locked',
    postgres: true,
    edits: [
      {
        file: CAPACITY,
        search: "if (dialect === 'sqlite' || asked.length === 0) return;",
        replace: 'if (asked.length >= 0) return;',
      },
    ],
  },
  {
    name: 'a node holds without asking what is left',
    postgres: true,
    edits: [{ file: HOLDS, search: 'if (quota === 0 || (await', replace: 'if (quota >= 0 || (await' }],
  },
  {
    name: 'a node holds more than it may',
    postgres: true,
    edits: [{ file: HOLDS, search: ' || total + quota > bound)', replace: ')' }],
  },
  {
    name: 'what is held is left to a reservation in the store',
    edits: [
      {
        file: OPEN_TASKS,
        search: 'held: holds.read(opening.payer) }',
        replace: 'held: { wallet: 0, key: 0, user: 0, group: 0 } }',
      },
    ],
  },
  {
    name: 'what was held still counts after its bill',
    edits: [{ file: HOLDS, search: '        count(0);\n', replace: '' }],
  },
  {
    name: 'the bill of a stream that was held is never written',
    edits: [
      {
        file: 'src/relay/requests/deliver-stream.ts',
        search: 'if (relay.hold) deps.shared.settlements.track(billRelay(deps, relay, bill));',
        replace: 'if (relay.hold) relay.hold.end();',
      },
    ],
  },
  {
    name: 'a bill is written only if the balance still covers it',
    postgres: true,
    edits: [{ file: MONEY_WRITES, search: 'isOwed: true', replace: 'isOwed: false' }],
  },
];
