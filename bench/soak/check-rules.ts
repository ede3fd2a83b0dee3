import type { Gateway } from '../../test/support/gateway.ts';
import { runBeside } from '../../test/support/run-command.ts';
import type { Notices } from './collect-notices.ts';
import type { Placed } from './place-orders.ts';
import { query } from './query-database.ts';
import type { NoisyVendor } from './start-noisy-vendor.ts';

/** One rule of the soak; `violations` holds a few examples, and is empty when it was kept. */
export type Rule = { rule: string; found: string; violations: string[] };

export type SoakOutcome = {
  gateway: Gateway;
  /** How many orders were to be placed. */
  ordered: number;
  placed: readonly Placed[];
  vendor: NoisyVendor;
  /** By API key id. */
  receivers: ReadonlyMap<number, Notices>;
};

type Row = {
  task_id: string;
  status: string;
  fail_reason: string;
  upstream_task_id: string;
  api_key_id: number;
  waiting_since: number;
};
const SHOWN = 10;

/**
 * True when nothing is running any more: all tasks have ended, and every receiver knows it.
 */
export async function isQuiet(databaseUrl: string): Promise<boolean> {
  const [row] = await query<{ running: number; untold: number }>(
    databaseUrl,
    `select (select count(*)::int from tasks where status not in ('SUCCESS', 'FAILURE')) as running,
            (select count(*)::int from webhook_outbox where event = 'task.finished' and status = 'pending') as untold`,
  );
  return row?.running === 0 && row.untold === 0;
}

/**
 * A task that waits is answered before it is sent. Where its node is killed while it sends it, the
 * task ends refunded: the vendor may have it.
 */
const wasCutOff = ({ status, fail_reason: reason, waiting_since: since }: Row): boolean =>
  status === 'FAILURE' && reason === 'The submission was interrupted.' && since > 0;

/**
 * Reads the database, the vendor's own count and what the receivers got, and says which rules were
 * broken.
 */
export async function checkRules({ gateway, ordered, placed, vendor, receivers }: SoakOutcome): Promise<Rule[]> {
  const { databaseUrl } = gateway;
  const rules: Rule[] = [];
  const say = (rule: string, found: string, violations: string[]) =>
    rules.push({ rule, found, violations: violations.slice(0, SHOWN) });

  const tasks = await query<Row>(
    databaseUrl,
    'select task_id, status, fail_reason, upstream_task_id, api_key_id::int, waiting_since::int from tasks',
  );
  const byId = new Map(tasks.map((task) => [task.task_id, task]));

  const answered = placed.filter((order) => order.tasks.size === 1);
  say('every order was accepted', `${answered.length} of ${ordered}`, [
    ...(placed.length < ordered
      ? [`${ordered - placed.length} were not sent: the machine is too slow, or --seconds too short`]
      : []),
    ...placed.filter((order) => order.tasks.size !== 1).map(({ answers }) => JSON.stringify([...answers])),
  ]);

  const lost = answered.flatMap(({ order, tasks: [id = ''] }) => {
    const task = byId.get(id);
    const expected = order.fails ? 'FAILURE' : 'SUCCESS';
    return task?.status === expected || (task && wasCutOff(task))
      ? []
      : [`${id}: ${task?.status} (${task?.fail_reason}), ${expected} was due`];
  });
  say('what was accepted ended as the vendor ended it', `${answered.length - lost.length}`, lost);

  const followed = tasks.filter((task) => task.upstream_task_id !== '');
  const taken = new Set(answered.flatMap((order) => [...order.tasks]));
  say(
    'one followed task per order, whatever its client repeated',
    `${followed.length} of ${tasks.length} tasks`,
    followed.filter((task) => !taken.has(task.task_id)).map((task) => `${task.task_id} is nobody's order`),
  );

  const ends = await query<{ task_id: string; ends: number; refunds: number; settles: number }>(
    databaseUrl,
    `select t.task_id,
        count(*) filter (where e.kind = 'transition' and e.status in ('SUCCESS', 'FAILURE'))::int as ends,
        count(*) filter (where e.kind = 'refunded')::int as refunds,
        count(*) filter (where e.kind = 'settled')::int as settles
      from tasks t left join task_events e on e.task_id = t.task_id group by t.task_id`,
  );
  say(
    'every task ended once',
    `${ends.filter((task) => task.ends === 1).length} of ${tasks.length}`,
    ends
      .filter((task) => task.ends !== 1 || task.refunds + task.settles !== 1)
      .map((task) => `${task.task_id}: ${task.ends} ends, ${task.settles} settled, ${task.refunds} refunded`),
  );

  const duplicates = Object.entries(await vendor.duplicates());
  const unseen = await Promise.all(
    followed.map(async ({ task_id }) => ((await vendor.countOrders(task_id)) === 1 ? '' : `${task_id} is not known`)),
  );
  say('the vendor saw each job at most once', `${vendor.answered.orders} orders`, [
    ...duplicates.map(([id, times]) => `${id}: ${times} times`),
    ...unseen.filter((text) => text !== ''),
  ]);

  const doctor = await runBeside(gateway, ['doctor']);
  say('the ledger adds up', 'doctor', doctor.code === 0 ? [] : [`${doctor.out}${doctor.err}`]);

  for (const [keyId, { finished, counts }] of receivers) {
    const own = tasks.filter((task) => task.api_key_id === keyId);
    const untold = own.filter((task) => finished.get(task.task_id) !== task.status);
    const wrong = counts.badSignatures + counts.contradictions + finished.size - (own.length - untold.length);
    say(
      `receiver ${keyId} got every task.finished, signed`,
      `${own.length - untold.length} of ${own.length} (${counts.finished} notices, ${counts.refused} refused at first)`,
      [
        ...untold.map((task) => `${task.task_id}: ${task.status} was reported as ${finished.get(task.task_id)}`),
        ...(wrong > 0 ? [`${JSON.stringify(counts)}, ${finished.size} tasks reported, ${own.length} of this key`] : []),
      ],
    );
  }
  return rules;
}
