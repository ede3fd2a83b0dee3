import { ask, setUp } from '../../test/support/gateway.ts';
import { type OwnPostgres, startOwnPostgres } from '../../test/support/own-postgres.ts';
import { type Figure, higher, lower, percentile, row } from '../figures.ts';
import { formatRequest, sendOverConnections } from '../load/http-client.ts';
import { CONNECTIONS } from '../load/measure-requests.ts';
import { startBenchVendor } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { cpuSeconds } from '../read-processes.ts';
import { prepareChannel, startBuild } from '../stage.ts';
import { NO_LIMITS } from './requests.ts';

const WARM_UP_REQUESTS = 1_000;
const LONGEST_WARM_UP_SECONDS = 10;
const KEYS = 32;
const BODY = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });
const NEVER_POLLED = { ...NO_LIMITS, UPDATE_TASK: 'false' };

type Node = { port: number; pid: number };
type Load = { what: string; nodes: readonly Node[]; next: (client: number) => string };

/**
 * What PostgreSQL, with its fsync, costs a gateway: submissions by one key, by 32 keys, and by one
 * through two nodes; reads by session and by key. The processor time is that of all nodes and of
 * the server together.
 */
export async function benchPostgres({ build, seconds }: Run): Promise<Figure[]> {
  const server = await startOwnPostgres();
  const vendor = await startBenchVendor();
  const start = () => startBuild(build, { databaseUrl: server.url, env: NEVER_POLLED });
  const nodes = [await start()];
  try {
    const [first] = nodes as [(typeof nodes)[number]];
    const admin = await setUp(first);
    await prepareChannel(admin, vendor);
    const keys: string[] = [];
    for (let number = 0; number < KEYS; number += 1) keys.push(await admin.createKey({ name: `bench ${number}` }));
    const submit = (key = '') => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      return formatRequest('POST', '/v1/tasks/demo', { headers, body: BODY });
    };
    const read = (path: string, token = '') => {
      const text = formatRequest('GET', path, { headers: { authorization: `Bearer ${token}` } });
      return () => text;
    };
    const submissions = keys.map(submit);
    const measure = (load: Omit<Load, 'nodes'>) => measureNodes({ ...load, nodes }, { seconds, server });
    const { body } = await ask(`${first.url}/v1/tasks/demo`, { token: keys[0] ?? '', body: JSON.parse(BODY) });
    const figures = [
      ...(await measure({ what: 'session read, PostgreSQL', next: read('/api/user/self', admin.token) })),
      ...(await measure({ what: 'task by key, PostgreSQL', next: read(`/v1/tasks/${body.id}`, keys[0]) })),
      ...(await measure({ what: 'submissions by one key, PostgreSQL', next: () => submissions[0] ?? '' })),
      ...(await measure({
        what: `submissions by ${KEYS} keys, PostgreSQL`,
        next: (client) => submissions[client % KEYS] ?? '',
      })),
    ];
    nodes.push(await start());
    figures.push(
      ...(await measure({ what: 'submissions by one key, two nodes on PostgreSQL', next: () => submissions[0] ?? '' })),
    );
    return figures;
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await Promise.all([vendor.stop(), server.kill()]);
  }
}

/** The connections are shared among the nodes. */
async function measureNodes(
  { what, nodes, next }: Load,
  { seconds, server }: { seconds: number; server: OwnPostgres },
): Promise<Figure[]> {
  const connections = CONNECTIONS / nodes.length;
  const send = async (during: { seconds: number; atLeast?: number; atMostSeconds?: number }) => {
    const loads = nodes.map(({ port }, node) =>
      sendOverConnections({
        ...{ port, connections, next: (client: number) => next(client + node * connections), ...during },
        take: ({ status, body }) => {
          if (status !== 200) throw new Error(`${what} was answered ${status}: ${body.toString().slice(0, 500)}`);
        },
      }),
    );
    return Promise.all(loads);
  };
  await send({ seconds: 1, atLeast: WARM_UP_REQUESTS / nodes.length, atMostSeconds: LONGEST_WARM_UP_SECONDS });
  const spent = () => [...nodes, server].reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const before = spent();
  const answers = await send({ seconds });
  const cpu = spent() - before;
  const times = answers.flatMap(({ times }) => [...times]);
  const took = Math.max(...answers.map((each) => each.took));
  return row(what, [
    higher('rate', times.length / took, '/s'),
    lower('p99', percentile(times, 0.99), 'ms'),
    lower('processor a request, server included', (cpu / times.length) * 1e6, 'µs'),
  ]);
}
