import { type Facts, mayBeHeld, type Rule, sum } from './facts.ts';
import { estimateRelay } from './plan-relays.ts';
import { quotaPerSecond, ratioFor, USERS } from './prepared-world.ts';
import type { LedgerLine } from './read-books.ts';
import { nameAttempt } from './relay-clients.ts';

/** What the specification says of balances, of quotas of keys, and of budgets. */
export const MONEY_RULES: Record<string, Rule> = {
  'sums are right': ({ books, orderFor, jobFor }, say) => {
    for (const task of books.tasks) {
      const lines = books.lines.filter(({ taskId }) => taskId === task.taskId);
      const { user = '', fate } = orderFor(task) ?? {};
      const price = quotaPerSecond(jobFor(task)?.key) * ratioFor(user);
      const bill = task.status === 'SUCCESS' ? Math.round((fate?.usedSeconds ?? Number.NaN) * price) : 0;
      const charged = -sum(lines.map(({ amount }) => amount));
      if (charged !== bill || task.quota !== bill)
        say(`${task.taskId} is ${task.status}, says ${task.quota}, was charged ${charged}, and costs ${bill}`);
    }
    for (const { name, balance } of USERS) {
      const lines = linesFor(books, name);
      const billed = sum(
        [
          ...books.tasks.filter(({ user, status }) => user === name && status === 'SUCCESS'),
          ...books.relays.filter(({ user, status }) => user === name && status === 'BILLED'),
        ].map(({ quota }) => quota),
      );
      const { quota, usedQuota } = books.balances.get(name) ?? {};
      const { used } = books.keys.get(name) ?? {};
      if (quota !== balance + sum(lines.map(({ amount }) => amount)))
        say(`${name} has ${quota} left, and the lines say otherwise`);
      if (quota !== balance - billed || usedQuota !== billed)
        say(`${name} has ${quota} of ${balance} left, used ${usedQuota}, and was billed ${billed}`);
      if (used !== billed) say(`the key of ${name} used ${used}, and was billed ${billed}`);
    }
  },

  'a balance is not sold twice': (facts, say) => {
    for (const { name, balance } of USERS) reportOverdrafts(facts, { user: name, amount: balance }, say);
  },

  'a key spends no more than it may': (facts, say) => {
    const { ofKey } = facts.plan.relays;
    if (!ofKey) return;
    reportOverdrafts(facts, ofKey, say);
    const spent = -sum(linesFor(facts.books, ofKey.user).map(({ amount }) => amount));
    const { left } = facts.books.keys.get(ofKey.user) ?? {};
    if (left !== ofKey.amount - spent)
      say(`the key of ${ofKey.user} has ${left} of ${ofKey.amount}, and spent ${spent}`);
  },

  'nobody spends more than their budget': (facts, say) => {
    const { budget } = facts.plan.queue;
    if (!budget) return;
    reportOverdrafts(facts, budget, say);
    const spent = -sum(linesFor(facts.books, budget.user).map(({ amount }) => amount));
    if (facts.books.budgeted !== spent)
      say(`${budget.user} has spent ${spent}, and their budget says ${facts.books.budgeted}`);
  },

  'who can pay is not refused': ({ orders, relays, plan }, say) => {
    const limits = [...USERS.map(({ name: user, balance: amount }) => ({ user, amount }))];
    for (const each of [plan.relays.ofKey, plan.queue.budget]) if (each) limits.push(each);
    for (const { name } of USERS) {
      const own = [...orders, ...relays].filter(({ user }) => user === name);
      // A settlement may take a second more than was reserved.
      const asked = own.map((each) =>
        'maxTokens' in each ? estimateRelay(each) : (each.seconds + 1) * quotaPerSecond(undefined) * ratioFor(name),
      );
      const most = sum(own.map(({ attempts }, index) => attempts.length * (asked[index] ?? 0)));
      const least = Math.min(...limits.filter(({ user }) => user === name).map(({ amount }) => amount));
      if (most > least) continue;
      for (const { name: what, attempts } of own)
        for (const { outcome, beginMs } of attempts)
          if (typeof outcome === 'object' && 'code' in outcome && NO_MONEY.has(outcome.code))
            say(`${what} was refused at ${beginMs / 1000} s with ${outcome.code}: ${name} has ${least}, asked ${most}`);
    }
  },
};

const NO_MONEY: ReadonlySet<string> = new Set(
  ['insufficient_quota', 'insufficient_key_quota', 'budget_exceeded'].map((code) => `billing.${code}`),
);

const linesFor = ({ lines }: Facts['books'], name: string): LedgerLine[] =>
  lines.filter(({ user, kind }) => user === name && kind !== 'grant');

/**
 * Says which reservations took more than was left. One node counts what it holds in memory: the
 * amount of the option is what each other may take beside it. A task may be settled above its
 * reservation, which is no reservation's fault.
 */
function reportOverdrafts(
  facts: Facts,
  { user, amount }: { user: string; amount: number },
  say: (what: string) => void,
) {
  const { machines, relays } = facts.plan;
  const lines = linesFor(facts.books, user);
  const byTask = Map.groupBy(lines, ({ taskId }) => taskId);
  const most = (machines - 1) * relays.mostHeld;
  let left = amount;
  let beyond = 0;
  for (const line of lines) {
    const { kind, taskId } = line;
    const own = byTask.get(taskId) ?? [];
    if (isHeld(facts, taskId)) {
      // Its lines are written together, with its bill.
      if (line !== own[0]) continue;
      left += sum(own.map((each) => each.amount));
      if (left + beyond < -most) say(`${user} had ${amount}, and ${-left} more was used with ${taskId}`);
      continue;
    }
    left += line.amount;
    if (kind === 'settle') beyond += Math.max(0, -line.amount);
    if (kind === 'reserve' && left < 0)
      say(`${user} reserved ${-line.amount} for ${taskId} with ${left - line.amount} left`);
  }
}

/** Whether its reservation may have been held in memory. */
function isHeld(facts: Facts, taskId: string | null): boolean {
  const requestId = facts.books.relays.find(({ relayId }) => relayId === taskId)?.requestId;
  const relay = facts.relays.find((each) => each.attempts.some((_, index) => nameAttempt(each, index) === requestId));
  return relay !== undefined && mayBeHeld(facts, relay);
}
