import { createHash } from 'node:crypto';
import { LIMIT_RULES } from './check-limits.ts';
import { MONEY_RULES } from './check-money.ts';
import { QUEUE_RULES } from './check-queue.ts';
import { RELAY_RULES } from './check-relays.ts';
import { GONE } from './clients.ts';
import { answeredIds, type Facts, gatherFacts, hasEnded, type Rule, sum, type Violation } from './facts.ts';
import type { History } from './history.ts';
import type { Exchange } from './network.ts';
import type { BookedTask } from './read-books.ts';
import type { Job, Statement } from './vendor.ts';

const MINUTE_MS = 60_000;
/** TASK_TIMEOUT_MINUTES and TASK_POLL_MAX_FAILURES of the simulated gateways. */
const TIMEOUT_MS = 60 * MINUTE_MS;
const MOST_FAILURES = 20;
/** A process that dies within the time of a submission has not stored what its vendor said. */
const LONGEST_SUBMISSION_MS = 2.5 * MINUTE_MS;
/** A submission may try several channels, each for two minutes. */
const LONGEST_REQUEST_MS = 10 * MINUTE_MS;
/** Retry-After is obeyed for five minutes; a lease, a poll and a sweep come on top. */
const LONGEST_END_MS = 8 * MINUTE_MS;

const RANK: Record<string, number> = { NOT_START: 1, SUBMITTED: 1, QUEUED: 2, IN_PROGRESS: 3, SUCCESS: 4, FAILURE: 4 };
const rankStatus = (status: string): number => RANK[status] ?? Number.NaN;

/** What the specification says of any history. No rule knows the engine or its statements. */
const RULES: Record<string, Rule> = {
  'an accepted order is a task of its user': ({ orders, books, deletedMs }, say) => {
    for (const order of orders) {
      const { name, user, idempotencyKey } = order;
      const answered = answeredIds(order);
      for (const taskId of answered) {
        const task = books.tasks.find((each) => each.taskId === taskId);
        const isShown = task?.order === name || (task?.order === '' && deletedMs(task) !== undefined);
        if (task?.user !== user || !isShown)
          say(`${name} was answered with ${taskId}, which is ${JSON.stringify(task)}`);
      }
      if (idempotencyKey !== null && answered.size > 1)
        say(`${name} has one Idempotency-Key and the tasks ${[...answered]}`);
    }
  },

  'an order is sent once': ({ orders, jobsFor }, say) => {
    for (const { name, attempts, idempotencyKey } of orders) {
      const jobs = jobsFor(name);
      if (jobs.length > 1) say(`${name} was bought as ${jobs.map(({ id, by }) => `${id} by ${by}`)}`);
      for (const [index, { outcome, beginMs, endMs }] of attempts.entries()) {
        const mayRepeat = typeof outcome === 'object' && 'code' in outcome && outcome.shouldRetry === true;
        // With an Idempotency-Key a task may go on after the answer: a repeat finds it.
        const untilMs = idempotencyKey === null ? (attempts[index + 1]?.beginMs ?? Number.POSITIVE_INFINITY) : endMs;
        const bought = jobs.find((job) => job.createdMs >= beginMs && job.createdMs <= untilMs);
        if (mayRepeat && bought) say(`${name} was bought as ${bought.id}, and its client was told to repeat it`);
      }
    }
  },

  'nothing waits forever': (history, say) => {
    const { isQuiet, orders, relays, arrivals, tasksEndedMs, plan, vendor, books, queueLooks } = history;
    if (!isQuiet) {
      const open = books.tasks
        .filter(({ status }) => !hasEnded(status))
        .map(({ taskId, status }) => `${taskId} ${status}`);
      say(`work was left when all faults were long over: ${open.join(', ') || 'webhooks, copies or clients'}`);
    }
    let lastMs = plan.healAtMs;
    for (const { atMs, waiting } of queueLooks) if (waiting.length > 0) lastMs = Math.max(lastMs, atMs);
    for (const { endsMs } of vendor.jobs.values()) lastMs = Math.max(lastMs, endsMs);
    for (const { atMs, untilMs, end } of arrivals)
      lastMs = Math.max(lastMs, end?.atMs ?? (untilMs < Number.POSITIVE_INFINITY ? untilMs : atMs));
    for (const { name, attempts } of [...orders, ...relays]) {
      for (const { beginMs, endMs } of attempts) {
        if (endMs - beginMs > LONGEST_REQUEST_MS) say(`${name} waited ${(endMs - beginMs) / 1000} s for an answer`);
        if (endMs < Number.POSITIVE_INFINITY) lastMs = Math.max(lastMs, endMs);
      }
    }
    if (tasksEndedMs > lastMs + LONGEST_END_MS)
      say(`the last task ended at ${tasksEndedMs / 1000} s, everything else at ${lastMs / 1000} s`);
  },

  'a task succeeds only with its job': ({ books, jobFor, statementsFor }, say) => {
    for (const task of books.tasks) {
      const job = jobFor(task);
      if (task.status !== 'SUCCESS') continue;
      if (!job || job.reference !== task.taskId) say(`${task.taskId} has the job ${JSON.stringify(job)}`);
      else if (!statementsFor(job).some(({ status, seenMs }) => status === 'succeeded' && seenMs !== undefined))
        say(`${task.taskId} succeeded before ${job.id} did`);
    }
  },

  'a job that was accepted is followed to its end': (history, say) => {
    for (const task of history.books.tasks) {
      if (task.status !== 'FAILURE') continue;
      const job = [...history.vendor.jobs.values()].find(({ reference }) => reference === task.taskId);
      if (!job) continue;
      const said = history.statementsFor(job);
      const isKnown = said.some(
        ({ call, status, seenMs }) => call === 'submit' && status !== undefined && seenMs !== undefined,
      );
      if (isKnown && !mayFail(history, { task, job, said }))
        say(`${task.taskId} (${job.order}) failed: "${task.failReason}", and ${job.id} did not`);
    }
  },

  'states only go forward': ({ orders, books, plan, deletedMs }, say) => {
    for (const { name, looks } of orders) {
      for (const [index, look] of looks.entries()) {
        const isKnown = look.status in RANK;
        const isGone = look.status === GONE && (deletedMs(look) ?? Number.POSITIVE_INFINITY) <= look.atMs;
        if (
          !isKnown &&
          !isGone &&
          look.status !== 'cut' &&
          !(look.status === 'store.unavailable' && plan.rates.database > 0)
        )
          say(`${name} was shown as ${look.status}`);
        const before = looks.slice(0, index).findLast(({ status }) => status in RANK);
        if (!before || !isKnown) continue;
        if (
          rankStatus(look.status) < rankStatus(before.status) ||
          (hasEnded(before.status) && look.status !== before.status)
        )
          say(`${name} was ${before.status}, then ${look.status}`);
      }
    }
    for (const { taskId, status } of books.tasks) {
      const events = books.events.filter((event) => event.taskId === taskId);
      const path = events.filter(({ kind }) => kind === 'transition').map((event) => event.status);
      if (path.some((each, index) => index > 0 && rankStatus(each) < rankStatus(path[index - 1] ?? '')))
        say(`${taskId} went ${path}`);
      if (path.filter(hasEnded).length !== 1 || path.at(-1) !== status) say(`${taskId} is ${status} and went ${path}`);
      const money = events.filter(({ kind }) => kind === 'settled' || kind === 'refunded').map(({ kind }) => kind);
      if (money.join() !== (status === 'SUCCESS' ? 'settled' : 'refunded'))
        say(`${taskId} is ${status} and was ${money}`);
    }
  },

  'old rows go, and the money stays': ({ books, late }, say) => {
    if (!late) return;
    for (const { taskId } of late.books.tasks) {
      // A kept result is found by its task, and has days of its own.
      if (!late.books.kept.some((result) => result.taskId === taskId && result.state === 'kept'))
        say(`${taskId} is left`);
    }
    for (const [user, before] of books.balances) {
      const after = late.books.balances.get(user);
      const lines = sum(late.books.lines.filter((line) => line.user === user).map(({ amount }) => amount));
      if (after?.quota !== before.quota || after.usedQuota !== before.usedQuota || lines !== before.quota)
        say(`${user} had ${JSON.stringify(before)}, and now ${JSON.stringify(after)} with lines of ${lines}`);
    }
    const found = Object.values(late.imbalances as Record<string, unknown[]>).flat();
    if (found.length > 0) say(`the check of sums finds ${JSON.stringify(late.imbalances)}`);
  },

  'webhooks come in order, and none is missing': ({ books, notices }, say) => {
    for (const { taskId, status, callbackUrl } of books.tasks) {
      const own = notices.filter((notice) => notice.taskId === taskId);
      if (callbackUrl === null) {
        if (own.length > 0) say(`${taskId} wanted no webhooks and sent ${own.length}`);
        continue;
      }
      const finished = own.filter(({ event }) => event === 'task.finished');
      if (!finished.some(({ answered }) => answered < 300))
        say(`${taskId} is ${status}, and its receiver was not told`);
      const wrong = finished.find((notice) => notice.status !== status);
      if (wrong) say(`${taskId} is ${status}, and its receiver was told ${wrong.status}`);
      if (new Set(finished.map(({ id }) => id)).size > 1) say(`${taskId} has two webhooks of its end`);
      const known = own.filter(({ id }, index) => own.findIndex((other) => other.id === id) === index);
      const path = known
        .filter(({ event }) => event !== 'task.kept')
        // It waits for a vendor here; a vendor's own queue comes later.
        .map(({ event, status: told }) => (event === 'task.queued' ? 'NOT_START' : told));
      if (known.filter(({ event }) => event === 'task.queued').length > 1) say(`${taskId} was told twice to wait`);
      if (path.some((each, index) => index > 0 && rankStatus(each) < rankStatus(path[index - 1] ?? '')))
        say(`${taskId} was told as ${path}`);
      const endAt = own.findIndex(({ event, answered }) => event === 'task.finished' && answered < 300);
      if (endAt >= 0 && own.slice(endAt + 1).some(({ event }) => event === 'task.updated'))
        say(`${taskId} was told to run after its end`);
    }
  },

  'kept results are whole, or lost with a reason': (
    { books, orderFor, jobFor, vendor, files, plan, deletedMs },
    say,
  ) => {
    for (const task of books.tasks) {
      if (deletedMs(task) !== undefined) continue;
      const rows = books.kept.filter(({ taskId }) => taskId === task.taskId);
      const job = jobFor(task);
      const isWanted = orderFor(task)?.keep === true && task.status === 'SUCCESS';
      if (!isWanted && rows.length > 0) say(`nobody wanted a copy for ${task.taskId}: ${JSON.stringify(rows)}`);
      if (!isWanted || !job) continue;
      const video = rows.find(({ artifactKey }) => artifactKey === 'video');
      const sha256 = createHash('sha256').update(vendor.content(job)).digest('hex');
      const isWhole = video?.state === 'kept' && video.sha256 === sha256 && files.has(sha256);
      const isLost = rows.length > 0 && rows.every(({ state, reason }) => state === 'lost' && reason !== '');
      if (!isWhole && !(isLost && plan.rates.forgotten > 0))
        say(`the result of ${task.taskId} is ${JSON.stringify(rows)}`);
    }
  },

  'a job is polled once at a time': ({ exchanges, plan }, say) => {
    const polls = exchanges.filter(({ method, url }) => method === 'GET' && !url.endsWith('/content'));
    const byJob = Map.groupBy(
      polls.flatMap((poll) => (poll.url.match(/job_\d+/g) ?? []).map((job) => ({ ...poll, job }))),
      ({ job }) => job,
    );
    for (const [job, own] of byJob) {
      const sorted = own.toSorted((one, other) => one.beginMs - other.beginMs);
      for (const [index, poll] of sorted.entries()) {
        const before = sorted[index - 1];
        if (before && before.endMs > poll.beginMs && !isOverslept(plan, { before, poll }))
          say(`${job} was polled by ${before.by} and at ${poll.beginMs / 1000} s by ${poll.by}`);
      }
    }
  },
};

/** Another machine polls instead of one that is suspended in the middle of a poll. */
function isOverslept({ disturbances }: Facts['plan'], { before, poll }: { before: Exchange; poll: Exchange }): boolean {
  const [machine, other] = [before, poll].map(({ by }) => by.replace(/\..*/, ''));
  return disturbances.some(
    ({ kind, machine: index, atMs, ms }) =>
      kind === 'suspend' &&
      machine !== other &&
      machine === `node${index + 1}` &&
      atMs <= poll.beginMs &&
      atMs + ms >= before.beginMs,
  );
}

/** Why the specification lets a task fail although the vendor's acceptance had arrived. */
function mayFail(
  { plan, lifetimes, exchanges, endMs }: Facts,
  { task, job, said }: { task: BookedTask; job: Job; said: readonly Statement[] },
): boolean {
  const seen = said.filter(({ seenMs }) => seenMs !== undefined);
  if (seen.some(({ status, httpStatus }) => status === 'failed' || httpStatus === 404)) return true;
  const has = (kind: string) => plan.disturbances.some((each) => each.kind === kind);
  const mayBeUnstored = plan.rates.database > 0 || plan.rates.databaseDelay > 0 || has('suspend');
  if (/interrupted/.test(task.failReason)) {
    const process = lifetimes.find(({ name }) => name === job.by);
    const died = (process?.endMs ?? 0) - job.createdMs;
    return mayBeUnstored || (died >= 0 && died <= LONGEST_SUBMISSION_MS);
  }
  if (/poll failed/.test(task.failReason)) {
    const asked = exchanges.filter(
      ({ method, url }) => method === 'GET' && new RegExp(`\\b${job.id}\\b`).test(url),
    ).length;
    return asked - seen.filter(({ call, status }) => call === 'poll' && status !== undefined).length >= MOST_FAILURES;
  }
  if (/timeout/.test(task.failReason)) {
    const stepped = sum(plan.disturbances.filter(({ kind }) => kind === 'step').map(({ ms }) => Math.abs(ms)));
    return endMs - job.createdMs + stepped >= TIMEOUT_MS;
  }
  return mayBeUnstored && /could not be|database/i.test(task.failReason);
}

/** All rules of the specification that a history breaks. */
export function checkHistory(history: History): Violation[] {
  const facts = gatherFacts(history);
  const violations: Violation[] = [];
  for (const [rule, check] of Object.entries({
    ...RULES,
    ...MONEY_RULES,
    ...QUEUE_RULES,
    ...LIMIT_RULES,
    ...RELAY_RULES,
  }))
    check(facts, (what) => violations.push({ rule, what }));
  return violations;
}
