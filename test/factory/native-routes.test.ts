/**
 * The paths of vendors' own clients, on the executable: submitted, polled at the vendor, asked for,
 * refused in the vendor's words.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { answerFrom, type Call, clients } from './native-clients.ts';

let gateway: Gateway;
let key: string;
const vendors: ReturnType<typeof answerFrom>[] = [];

beforeAll(async () => {
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  const admin = await setUp(gateway);
  await admin.call('PUT', '/api/option', { key: 'billing.unpriced', value: 'everyone' });
  key = await admin.createKey();
  for (const { plugin, model, vendor } of clients) {
    const server = answerFrom(vendor);
    vendors.push(server);
    await admin.createChannel(server.url.origin, {
      ...{ name: plugin, task_plugin_key: plugin, models: [model], key: 'access|secret' },
    });
  }
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.all(vendors.map((vendor) => vendor.stop(true)));
});

const send = ({ method, path, body }: Call) =>
  ask(`${gateway.url}${path}`, { method, token: key, ...(body === undefined ? {} : { body }) });

test.concurrent.each(clients.map((client) => [client.plugin, client] as const))(
  "%s: the vendor's clients submit, ask, and are told what is wrong",
  async (_plugin, { submit, ask: askFor, ended, wrong, refusal }) => {
    const submitted = await send(submit);
    expect(submitted.status).toBe(200);
    const id = /task_\w{20,}/.exec(JSON.stringify(submitted.body))?.[0] ?? '';
    await until('the task has ended', async () => {
      const { body } = await ask(`${gateway.url}/v1/tasks/${id}`, { token: key });
      return body.status === 'SUCCESS' || body.status === 'FAILURE';
    });
    const asked = await send(askFor(id));
    expect(asked.status).toBe(200);
    expect(asked.body).toMatchObject(ended(id) as object);
    const refused = await send(wrong);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject(refusal as object);
  },
);
