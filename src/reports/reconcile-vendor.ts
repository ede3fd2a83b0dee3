import { vendorCost } from '../billing/index.ts';
import { OperatorError } from '../kernel/index.ts';
import { type ListedTask, RELAY_TYPE, type Store, type TaskListFilter } from '../store/ports/index.ts';

/** Tasks that are read at a time. */
const PAGE = 200;
/** Names of columns that vendors' exports have, by what they hold. */
const ID_COLUMNS = ['task_id', 'job_id', 'request_id', 'generation_id', 'prediction_id', 'id'];
const COST_COLUMNS = ['cost_usd', 'cost', 'amount', 'charge', 'price', 'total', 'usd'];

/** A line of the vendor's list; `cost`: as the vendor states it, undefined without a column. */
export type VendorJob = { id: string; cost: number | undefined };

/** `task`: its id here. Costs are the vendor's figures, `charged` is quota. */
export type Reconciliation = {
  matched: number;
  vendorCost: number;
  /** What the channel's cost prices say of the same tasks; null: it has none. */
  expectedCost: number | null;
  charged: number;
  /** The vendor has the job, and no task here: bought, and billed to nobody. */
  unknown: VendorJob[];
  /** The vendor lists and bills it, and the task failed here and was refunded. */
  refunded: (VendorJob & { task: string })[];
  /** The vendor lists it more than once. */
  repeated: { id: string; times: number }[];
  /** The task has a job that the vendor does not list. */
  missing: { id: string; task: string }[];
};

/**
 * Compares a vendor's list of jobs with the tasks that the filter names.
 * @throws `OperatorError` where the channel is unknown or relays requests: it has no tasks, so all
 * of the jobs would be unknown here
 */
export async function reconcileVendor(
  { store }: { store: Pick<Store, 'tasks' | 'channels'> },
  { jobs, filter }: { jobs: readonly VendorJob[]; filter: TaskListFilter & { channelId: number } },
): Promise<Reconciliation> {
  const left = new Map<string, VendorJob & { times: number }>();
  for (const job of jobs) {
    const known = left.get(job.id);
    const cost = known?.cost === undefined && job.cost === undefined ? undefined : (known?.cost ?? 0) + (job.cost ?? 0);
    left.set(job.id, { id: job.id, cost, times: (known?.times ?? 0) + 1 });
  }
  const channel = await store.channels.byId(filter.channelId);
  if (channel?.type === RELAY_TYPE) {
    const advice = "compare what the vendor bills with the channel's spend in Usage";
    throw new OperatorError(`channel ${channel.id} relays requests and has no tasks: ${advice}`);
  }
  const settings = channel?.settings;
  let isKnown = channel !== undefined;
  const result: Reconciliation = {
    ...{
      matched: 0,
      charged: 0,
      expectedCost: settings?.cost_prices === undefined ? null : 0,
      unknown: [],
      refunded: [],
      missing: [],
    },
    vendorCost: jobs.reduce((sum, { cost = 0 }) => sum + cost, 0),
    repeated: [...left.values()].filter(({ times }) => times > 1).map(({ id, times }) => ({ id, times })),
  };
  for await (const row of readTasks(store, widen(filter))) {
    // A deleted channel has its tasks.
    isKnown = true;
    const { upstreamTaskId: id, taskId: task, status, quota } = row;
    const job = left.get(id);
    if (id === '' || (!job && !isWithin(row, filter))) continue;
    if (result.expectedCost !== null) result.expectedCost += vendorCost(row, settings)?.cost ?? 0;
    if (!job) result.missing.push({ id, task });
    else if (status === 'FAILURE' && job.cost !== 0) result.refunded.push({ id, cost: job.cost, task });
    if (job) result.matched += 1;
    if (status !== 'FAILURE') result.charged += quota;
    left.delete(id);
  }
  if (!isKnown) throw new OperatorError(`there is no channel ${filter.channelId}, and no task of one then`);
  result.unknown = [...left.values()].map(({ id, cost }) => ({ id, cost }));
  return result;
}

/**
 * The vendor has a job once its task was sent, up to half a day after it was created, and writes
 * the day by a clock of its own.
 */
const EDGE_SECONDS = 86_400;

const widen = (filter: TaskListFilter): TaskListFilter => ({
  ...filter,
  ...(filter.since === undefined ? {} : { since: filter.since - EDGE_SECONDS }),
  ...(filter.until === undefined ? {} : { until: filter.until + EDGE_SECONDS }),
});

/** Whether the vendor took the task in the time that the filter names. */
function isWithin({ submitTime, createdAt }: ListedTask, { since = 0, until = Infinity }: TaskListFilter): boolean {
  const takenAt = submitTime || createdAt;
  return takenAt >= since && takenAt <= until;
}

async function* readTasks(store: Pick<Store, 'tasks'>, filter: TaskListFilter): AsyncGenerator<ListedTask> {
  let after: string | undefined;
  do {
    const feed = await store.tasks.feed(filter, {
      limit: PAGE,
      order: 'asc',
      ...(after === undefined ? {} : { after }),
    });
    yield* feed?.items ?? [];
    after = feed?.next ?? undefined;
  } while (after !== undefined);
}

/**
 * Reads a vendor's export: comma, semicolon or tab, with a heading.
 * @throws `OperatorError` where a column is not found, or a figure is not a number
 */
export function readVendorCsv(
  text: string,
  columns: { id?: string | undefined; cost?: string | undefined },
): VendorJob[] {
  const lines = text.replace(/^\uFEFF/, '');
  const [firstLine = ''] = lines.split(/\r?\n/, 1);
  const separator = [';', '\t'].find((sign) => firstLine.includes(sign) && !firstLine.includes(',')) ?? ',';
  const [heading = [], ...rows] = parseCsv(lines, separator);
  const names = heading.map((name) => name.trim().toLowerCase());
  const find = (wanted: string | undefined, usual: readonly string[]): number => {
    const name = wanted === undefined ? usual.find((each) => names.includes(each)) : wanted.trim().toLowerCase();
    return name === undefined ? -1 : names.indexOf(name);
  };
  const has = `it has ${heading.map((name) => `"${name.trim()}"`).join(', ')}`;
  const idAt = find(columns.id, ID_COLUMNS);
  if (idAt === -1)
    throw new OperatorError(
      `the file has no column ${columns.id ?? 'with ids of jobs'}: name one with --id-column; ${has}`,
    );
  const costAt = find(columns.cost, COST_COLUMNS);
  if (columns.cost !== undefined && costAt === -1)
    throw new OperatorError(`the file has no column ${columns.cost}; ${has}`);
  return rows
    .map((row, at) => ({
      id: row[idAt]?.trim() ?? '',
      cost: costAt === -1 ? undefined : readCost(row[costAt] ?? '', at + 2),
    }))
    .filter(({ id }) => id !== '');
}

function readCost(text: string, line: number): number {
  const cost = Number(text.replace(/[$€£¥\s]/g, '') || '0');
  if (!Number.isFinite(cost))
    throw new OperatorError(`line ${line}: the cost "${text}" is not a number: a decimal point is needed`);
  return cost;
}

/** The cells of each line, as RFC 4180 has them; a quoted cell may hold anything. */
function parseCsv(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (isQuoted && sign === '"' && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (sign === '"' && (isQuoted || cell === '')) isQuoted = !isQuoted;
    else if (!isQuoted && (sign === separator || sign === '\n')) {
      row.push(cell.endsWith('\r') ? cell.slice(0, -1) : cell);
      cell = '';
      if (sign !== '\n') continue;
      rows.push(row);
      row = [];
    } else cell += sign;
  }
  if (cell !== '' || row.length > 0) rows.push([...row, cell]);
  return rows.filter((cells) => cells.some((each) => each.trim() !== ''));
}
