import { type AppError, type Budget, sentence } from '../kernel/index.ts';
import type { NewReservation, Repositories, ReservationVerdict, Store } from '../store/ports/index.ts';
import { billingErrors, budgetExceeded } from './errors.ts';
import { owner, type ReservedTask } from './settle.ts';

/**
 * How tasks take money before they are sent. `task.quota` is the amount. Whether key and balance
 * suffice is decided in the store, in `repositories/money/decide-reservations.ts`.
 */
export type Reserving = {
  /**
   * Takes first reservations, one after the other. Returns an error for each that is refused, of
   * which nothing was written: `billing.insufficient_quota`, `billing.insufficient_key_quota`,
   * `billing.budget_exceeded`.
   */
  reserveAll(tx: Repositories, tasks: readonly ReservedTask[]): Promise<(AppError | undefined)[]>;
  /** Whether each first reservation would be taken now if it came alone. Nothing is locked. */
  canReserveAll(tasks: readonly ReservedTask[]): Promise<boolean[]>;
  /**
   * Refunds the previous reservation and takes `task.quota` instead, for a submission that moved to
   * a channel with another price. `attempt` numbers the new reservation, which counts in the budget
   * periods of the previous one.
   * @throws the errors of `reserveAll`, if the new reservation is larger and its difference refused
   */
  replaceReservation(
    tx: Repositories,
    task: ReservedTask,
    previous: { reserved: number; attempt: number },
  ): Promise<void>;
};

type ReservingDeps = {
  store: Pick<Store, 'ledger'>;
  clock: { unix(): number };
  settings: () => { groupBudgets: Readonly<Record<string, Budget>>; timezone: string };
  readsFacts(billing: ReservedTask['billing']): boolean;
};

export function createReserving({ store, clock, settings, readsFacts }: ReservingDeps): Reserving {
  function toReservation(task: ReservedTask, attempt: number): NewReservation {
    const { groupBudgets, timezone: zone } = settings();
    const budget = Object.hasOwn(groupBudgets, task.group) ? groupBudgets[task.group] : undefined;
    const budgets = { zone, group: budget && { name: task.group, budget } };
    const { held, isOwed } = task;
    const asksForMoney = readsFacts(task.billing) && task.billing.groupRatio > 0;
    return { ...owner(task), attempt, amount: task.quota, asksForMoney, at: clock.unix(), budgets, held, isOwed };
  }

  return {
    async reserveAll(tx, tasks) {
      // A task that costs nothing now may cost something once its final facts are known.
      const counted = tasks.filter(({ quota, billing }) => quota !== 0 || readsFacts(billing));
      const entries = counted.map((task) => toReservation(task, 1));
      const verdicts = await tx.ledger.reserveAll(entries);
      const refusals = entries.map((entry, index) => toRefusal(verdicts[index] ?? 'ok', entry));
      const found = new Map(counted.map((task, index) => [task, refusals[index]]));
      return tasks.map((task) => found.get(task));
    },

    canReserveAll: (tasks) => store.ledger.canReserveAll(tasks.map((task) => toReservation(task, 1))),

    async replaceReservation(tx, task, { reserved, attempt }) {
      if (task.quota === reserved) return;
      const entry = toReservation(task, attempt);
      const verdict = await tx.ledger.replaceReservation({ ...entry, note: sentence('ledger.moved') });
      const refusal = toRefusal(verdict, entry);
      if (refusal) throw refusal;
    },
  };
}

function toRefusal(verdict: ReservationVerdict, { amount, at }: NewReservation): AppError | undefined {
  if (typeof verdict === 'object') return budgetExceeded(verdict, amount, at);
  if (verdict === 'wallet_insufficient') return billingErrors.insufficient_quota();
  return verdict === 'key_insufficient' ? billingErrors.insufficient_key_quota() : undefined;
}
