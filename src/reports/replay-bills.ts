import { type BillExplanation, parsePriceExpression } from '../billing/index.ts';
import { type Clock, createSemaphore, defineErrors, nextTurn, QUOTA_PER_USD, type Sentence } from '../kernel/index.ts';
import { CORRECTION_SECONDS, type NamedUsage, type Store, type UsageFilter } from '../store/ports/index.ts';

export const replayErrors = defineErrors('reports', {
  replay_busy: ['rate_limited', 'Other replays of bills are running. Try again when they have ended.'],
  replay_cursor: ['invalid', 'next is not from the slice before.'],
});

const DAY = 86_400;
/** Bills of one slice, and of one read: SQLite blocks the process during each. */
const SLICE = 2000;
const READ = 250;
/** Slices that this node works on at once, and how many wait: each belongs to a signed-in root. */
const AT_ONCE = 1;
const MOST_WAITING = 4;

/** A price that is tried, under the plugin's key or `*`. */
export type TriedPrice = { pluginKey: string; model: string; expression: string };

export type ReplayQuestion = {
  prices: readonly TriedPrice[];
  /** Ratios of groups that are tried. */
  groupRatios: Readonly<Record<string, number>>;
  days: number;
  /** Where the slice before ended; absent: the newest bill. */
  after?: string | undefined;
};

type Sums = { tasks: number; before: number; after: number };

/** Quota. What is not named is as it was. */
export type ReplaySlice = Sums & {
  /** Bills that were looked at, those that nothing changes included. */
  read: number;
  /** Bills that the new price would refuse: their request would have been refused. */
  refused: number;
  /** Why the first of them would be. */
  refusal: Sentence | null;
  /** `balance`: what is left today, of users who would have paid more; null for others. */
  users: (Sums & { id: number; name: string | null; balance: number | null })[];
  models: (Sums & { pluginKey: string; model: string })[];
  /** Where the next slice begins; null: all bills of the period were read. */
  next: string | null;
};
export type BillReplay = (question: ReplayQuestion) => Promise<ReplaySlice>;

/**
 * Computes bills of the last days again, from the facts that they were made of, slice by slice:
 * nothing is stored, and who stops asking stops the work. The newest bills come first.
 * @throws reports.replay_busy, reports.replay_cursor
 */
export function createBillReplay({ store, clock }: { store: Store; clock: Clock }): BillReplay {
  const slots = createSemaphore({
    slots: AT_ONCE,
    maxQueued: MOST_WAITING,
    onFull: () => replayErrors.replay_busy({ retryAfterSeconds: 5 }),
  });

  async function readSlice(question: ReplayQuestion): Promise<ReplaySlice> {
    const recompute = createRecomputation(store, question);
    const { before, since } = readCursor(question, clock.unix());
    const total = { read: 0, tasks: 0, before: 0, after: 0, refused: 0 };
    const users = new Map<number, ReplaySlice['users'][number]>();
    const models = new Map<string, ReplaySlice['models'][number]>();
    let refusal: Sentence | null = null;
    let last = before;
    let isDone = false;
    while (!isDone && total.read < SLICE) {
      const part = { limit: READ, ...(last === undefined ? {} : { before: last }) };
      const rows = await store.logs.readUsage({ ...narrow(question), since }, part);
      for (const row of rows) {
        last = row.id;
        total.read += 1;
        const found = await recompute(row);
        if (!found) continue;
        const after = found.fault ? 0 : found.quota;
        const isCorrection = row.seconds === CORRECTION_SECONDS;
        if (found.fault && !isCorrection) total.refused += 1;
        refusal ??= found.fault ?? null;
        const user = users.get(row.userId) ?? { id: row.userId, name: row.username, balance: null, ...nothing() };
        users.set(row.userId, user);
        const key = `${row.pluginKey}\n${row.model}`;
        const model = models.get(key) ?? { pluginKey: row.pluginKey, model: row.model, ...nothing() };
        models.set(key, model);
        for (const sums of [total, user, model]) {
          if (!isCorrection) sums.tasks += 1;
          sums.before += row.quota;
          sums.after += after;
        }
      }
      isDone = rows.length < READ;
      await nextTurn();
    }
    for (const user of users.values())
      if (user.after > user.before) user.balance = (await store.users.byId(user.id))?.quota ?? null;
    return {
      ...total,
      refusal,
      users: [...users.values()],
      models: [...models.values()],
      next: isDone || last === undefined ? null : `${last}.${since}`,
    };
  }

  return (question) => slots.run(() => readSlice(question));
}

const nothing = (): Sums => ({ tasks: 0, before: 0, after: 0 });

function readCursor({ after, days }: ReplayQuestion, now: number): { before?: number; since: number } {
  if (after === undefined) return { since: now - days * DAY };
  const [, before, since] = /^(\d{1,15})\.(\d{1,12})$/.exec(after) ?? [];
  if (before === undefined || Number(since) < now - (days + 1) * DAY)
    throw replayErrors.replay_cursor({ param: 'after' });
  return { before: Number(before), since: Number(since) };
}

/** Only bills that the question can change, as far as one filter says it. */
function narrow({ prices, groupRatios }: ReplayQuestion): UsageFilter {
  const [first, ...others] = prices;
  if (!first || Object.keys(groupRatios).length > 0) return {};
  const pluginKey = others.every((each) => each.pluginKey === first.pluginKey) && first.pluginKey !== '*';
  const model = others.every((each) => each.model === first.model);
  return { ...(pluginKey ? { pluginKey: first.pluginKey } : {}), ...(model ? { model: first.model } : {}) };
}

type Recomputed = { quota: number; fault?: Sentence };

/** A bill as its usage row has it. `action`: absent on older ones. `refunded`: it is taken back. */
type StoredBill = BillExplanation & { action?: string; refunded?: true };

/** The action that a price may read, also of a bill that does not say it. */
async function readAction(store: Store, { taskId, detail }: NamedUsage): Promise<string> {
  if (typeof detail.action === 'string') return detail.action;
  const task = (await store.tasks.byTaskId(taskId)) ?? (await store.relays.byRelayId(taskId));
  return task?.billing.action ?? '';
}

/** What a bill costs at most by another ratio: what was accepted for another model. */
function readMost({ usd, settled, group_ratio: former }: StoredBill, ratio: number): number {
  const isCapped = usd !== null && settled !== null && settled < Math.round(usd * QUOTA_PER_USD * former);
  return isCapped ? Math.round((settled * ratio) / former) : Number.POSITIVE_INFINITY;
}

/** What a bill would be; undefined for one that the question does not change. */
function createRecomputation(store: Store, { prices, groupRatios }: ReplayQuestion) {
  const tried = prices.map((price) => ({ ...price, parsed: parsePriceExpression(price.expression) }));
  const find = ({ pluginKey, model, detail }: NamedUsage) =>
    tried.find((price) => price.pluginKey === pluginKey && price.model === model) ??
    // The price that it had, by the vendor's name of the model, or for every plugin.
    tried.find((price) => detail.price === `${price.pluginKey}::${price.model}`) ??
    tried.find((price) => price.pluginKey === '*' && price.model === model && (detail.price ?? null) === null);

  return async (row: NamedUsage): Promise<Recomputed | undefined> => {
    if (row.kind !== 'settle') return undefined;
    const bill = row.detail as unknown as StoredBill;
    const price = find(row);
    const ratio = Object.hasOwn(groupRatios, bill.group) ? (groupRatios[bill.group] as number) : bill.group_ratio;
    if (!price && ratio === bill.group_ratio) return undefined;
    const isCorrection = row.seconds === CORRECTION_SECONDS && !bill.refunded;
    const sign = bill.refunded ? -1 : 1;
    const most = readMost(bill, ratio);
    const toQuota = (usd: number): number => Math.round(usd * QUOTA_PER_USD * ratio);
    const toCharge = (usd: number, before: number): number => sign * (Math.min(toQuota(usd), most) - before);
    // Without a price of its own, the amount in USD stands, and the group's ratio changes it.
    if (!price)
      return { quota: toCharge(bill.usd ?? bill.estimate.usd, isCorrection ? toQuota(bill.estimate.usd) : 0) };
    if (!price.parsed.ok) return { quota: 0, fault: price.parsed.error };
    const action = /\baction\b/.test(price.expression) ? await readAction(store, row) : '';
    // A bill that stands as it was reserved had no later facts, or none that were believed.
    const facts =
      bill.usd === null ? bill.facts : { ...bill.facts, ...bill.submission_facts, ...bill.completion_facts };
    const { evaluate } = price.parsed.value;
    const result = evaluate({ facts, model: row.model, action });
    if (!result.ok) return { quota: 0, fault: result.error };
    // The row that it corrects is read by itself, by the facts of the reservation.
    const before = isCorrection ? evaluate({ facts: bill.facts, model: row.model, action }) : undefined;
    return { quota: toCharge(result.value.usd, before?.ok ? toQuota(before.value.usd) : 0) };
  };
}
