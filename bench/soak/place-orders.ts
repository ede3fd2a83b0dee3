import { ask } from '../../test/support/gateway.ts';

const CLIENTS = 48;
const PAUSE_MS = 500;
const REPORT_EVERY_MS = 15_000;
/** A client that gets no answer within this time tries another node. */
const ANSWER_TIMEOUT_MS = 45_000;
/** Requests for one order after which the soak gives it up, which is a violation. */
const MAX_REQUESTS = 100;

/** Codes that are final for an idempotency key: only a new key can order again. */
const FINAL = new Set([
  'vendor_busy',
  'vendor_failed',
  'vendor_unreachable',
  'vendor_timeout',
  'submission_interrupted',
  'submission_unrecorded',
]);

export type Order = {
  plugin: string;
  model: string;
  prompt: string;
  fails: boolean;
  key: string;
  callbackUrl?: string;
};
/**
 * `tasks`: every task id that was returned for the order; more than one only if a repeat was
 * answered wrongly.
 */
export type Placed = { order: Order; tasks: Set<string>; answers: Map<string, number> };

/**
 * Sends the orders evenly over `spreadMs`, each to a random node and again until it is accepted, as
 * a careful client does. Orders that a slow machine has not begun after twice that time are left
 * out.
 */
export async function placeOrders(
  orders: readonly Order[],
  { urls, spreadMs, report }: { urls: readonly string[]; spreadMs: number; report: (count: number) => void },
): Promise<Placed[]> {
  const placed: Placed[] = [];
  const begun = performance.now();
  const reporting = setInterval(() => report(placed.length), REPORT_EVERY_MS);
  let next = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let index = next++; index < orders.length && performance.now() < begun + 2 * spreadMs; index = next++) {
        const due = begun + (index / orders.length) * spreadMs;
        await Bun.sleep(Math.max(0, due - performance.now()));
        placed.push(await placeOrder(orders[index] as Order, index, urls));
      }
    }),
  ).finally(() => clearInterval(reporting));
  return placed;
}

/** Sends one order to a random node, again until it is accepted. */
export async function placeOrder(order: Order, index: number, urls: readonly string[]): Promise<Placed> {
  const { plugin, model, prompt, key, callbackUrl } = order;
  const result: Placed = { order, tasks: new Set(), answers: new Map() };
  let attempt = 1;
  for (let request = 0; request < MAX_REQUESTS; request += 1) {
    const url = urls[Math.floor(Math.random() * urls.length)];
    const callback: Record<string, string> = callbackUrl === undefined ? {} : { 'x-callback-url': callbackUrl };
    const headers = { 'idempotency-key': `order-${index}-${attempt}`, ...callback };
    const answer = await Promise.race([
      ask(`${url}/v1/tasks/${plugin}`, { token: key, body: { model, prompt, seconds: 5 }, headers }).catch(
        () => 'no answer',
      ),
      Bun.sleep(ANSWER_TIMEOUT_MS).then(() => 'too slow'),
    ]);
    const said = typeof answer === 'string' ? answer : readCode(answer);
    result.answers.set(said, (result.answers.get(said) ?? 0) + 1);
    if (typeof answer !== 'string' && answer.status === 200) {
      result.tasks.add(String(answer.body.id));
      return result;
    }
    if (FINAL.has(said)) attempt += 1;
    await Bun.sleep(PAUSE_MS);
  }
  return result;
}

function readCode({ status, body }: { status: number; body: Record<string, unknown> }): string {
  if (status === 200) return 'taken';
  const { error } = body as { error?: { code?: string } };
  return String(error?.code ?? status).replace(/^tasks[._]/, '');
}
