import type { PlacedOrder } from './clients.ts';
import type { History } from './history.ts';
import type { BookedTask } from './read-books.ts';
import type { PlacedRelay } from './relay-clients.ts';
import type { Job, Statement } from './vendor.ts';

/** A rule of the specification, and how a history broke it. */
export type Violation = { rule: string; what: string };

type Say = (what: string) => void;
export type Rule = (history: Facts, say: Say) => void;

/** A history, by what the rules look things up. */
export type Facts = History & {
  orderFor: (task: Pick<BookedTask, 'taskId'>) => PlacedOrder | undefined;
  jobsFor: (order: string) => readonly Job[];
  jobFor: (task: BookedTask) => Job | undefined;
  statementsFor: (job: Job) => readonly Statement[];
  /** When its client asked to delete it; undefined: they did not. */
  deletedMs: (task: Pick<BookedTask, 'taskId'>) => number | undefined;
};

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
export const hasEnded = (status: string): boolean => status === 'SUCCESS' || status === 'FAILURE';

/** A request that is reserved in memory gets its row at its end. */
export const mayBeHeld = (
  { plan }: Pick<Facts, 'plan'>,
  { model, idempotencyKey }: Pick<PlacedRelay, 'model' | 'idempotencyKey'>,
): boolean => plan.relays.mostHeld > 0 && model !== 'draw' && idempotencyKey === null;

/** The tasks that the attempts of an order were answered with. */
export const answeredIds = ({ attempts }: PlacedOrder): Set<string> =>
  new Set(
    attempts.flatMap(({ outcome }) => (typeof outcome === 'object' && 'taskId' in outcome ? [outcome.taskId] : [])),
  );

export function gatherFacts(history: History): Facts {
  const { books, orders, vendor } = history;
  const jobs = [...vendor.jobs.values()];
  const said = Map.groupBy(vendor.statements, ({ job }) => job);
  const byName = new Map(orders.map((order) => [order.name, order]));
  // A deleted task has lost its prompt, by which its order is known otherwise.
  const byTask = new Map([
    ...jobs.map((job) => [job.reference, byName.get(job.order)] as const),
    ...orders.flatMap((order) => [...answeredIds(order)].map((id) => [id, order] as const)),
    ...books.tasks.filter(({ order }) => order !== '').map((task) => [task.taskId, byName.get(task.order)] as const),
  ]);
  const deletions = orders.flatMap(({ removals }) => removals.filter(({ kind }) => kind === 'delete'));
  return {
    ...history,
    orderFor: ({ taskId }) => byTask.get(taskId),
    jobsFor: (order) => jobs.filter((job) => job.order === order),
    jobFor: (task) => vendor.jobs.get(task.upstreamTaskId),
    statementsFor: ({ id }) => said.get(id) ?? [],
    deletedMs: ({ taskId }) => deletions.find((removal) => removal.taskId === taskId)?.beginMs,
  };
}
