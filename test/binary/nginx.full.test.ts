/** Two nodes behind the nginx of docs/operating/several-nodes.md, restarted in turn under load. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { freePort } from '../support/free-port.ts';
import { type Gateway, setUp, startGateway, startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit } from '../support/main-job.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const nginx = findProgram(['nginx']);
const guide = readFileSync(new URL('../../docs/operating/several-nodes.md', import.meta.url), 'utf8');
const [, block = ''] = /^```nginx\n([\s\S]*?)^```$/m.exec(guide) ?? [];

const env = { TRUSTED_PROXIES: '127.0.0.1', TASK_POLL_INTERVAL_SECONDS: '1' };

let vendor: VendorProcess;
let nodes: Gateway[] = [];
let proxy: ReturnType<typeof Bun.spawn> | undefined;
let url = '';
let key = '';

beforeAll(async () => {
  if (nginx === null) return;
  vendor = await startVendor();
  const databaseUrl = await testDatabaseUrl();
  nodes = [await startGateway({ databaseUrl, env }), await startGateway({ databaseUrl, env })];
  const root = await setUp(nodes[0] as Gateway);
  await root.createChannel(vendor.url);
  key = await root.createKey();
  const port = await freePort();
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'temp'));
  const http = block
    .replace('10.0.0.11:3000', new URL(nodes[0]?.url ?? '').host)
    .replace('10.0.0.12:3000', new URL(nodes[1]?.url ?? '').host)
    .replace('listen 80', `listen 127.0.0.1:${port}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/temp/${name};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp { access_log off; ${temporary.join(' ')}\n${http} }\n`,
  );
  proxy = Bun.spawn([nginx, '-c', join(folder, 'nginx.conf'), '-p', folder], { stdout: 'ignore', stderr: 'inherit' });
  url = `http://127.0.0.1:${port}`;
  await until('nginx answers', () =>
    fetch(`${url}/livez`).then(
      (answer) => answer.status === 200,
      () => false,
    ),
  );
});
afterAll(async () => {
  proxy?.kill();
  for (const node of nodes) await node.kill();
  await vendor?.stop();
});

test.if(nginx !== null)('no request fails while nodes are stopped and started in turn', async () => {
  const statuses = new Map<string, number>();
  const count = (what: string) => void statuses.set(what, (statuses.get(what) ?? 0) + 1);
  const leaving = new AbortController();
  const client = async (ask: () => Promise<number>, name: string) => {
    while (!leaving.signal.aborted) {
      await ask().then(
        (status) => count(`${name} ${status}`),
        (error) => count(`${name} ${error.code ?? error.message}`),
      );
    }
  };
  const headers = { authorization: `Bearer ${key}` };
  const clients = [
    ...Array.from({ length: 4 }, () =>
      client(async () => (await fetch(`${url}/v1/models`, { headers })).status, 'GET'),
    ),
    ...Array.from({ length: 2 }, () => client(async () => (await submit(url, key, {})).status, 'POST')),
  ];
  const answered = (gets: number, posts: number) => () =>
    (statuses.get('GET 200') ?? 0) > gets && (statuses.get('POST 200') ?? 0) > posts;
  await until('requests are answered', answered(50, 5));
  expect(await (nodes[1] as Gateway).stop()).toBe(0);
  const [gets = 0, posts = 0] = [statuses.get('GET 200'), statuses.get('POST 200')];
  await until('the other node answers', answered(gets + 100, posts + 5));

  // The next one is stopped only when nginx sends requests to this one again, after `fail_timeout`.
  const { databaseUrl, dataDir, port } = nodes[1] as Gateway;
  const again = await startGateway({ databaseUrl, dataDir, port, env });
  nodes[1] = again;
  await until('the node that is back serves', () => again.log().includes('"path":"/v1/models"'));
  expect(await (nodes[0] as Gateway).stop()).toBe(0);
  const [laterGets = 0, laterPosts = 0] = [statuses.get('GET 200'), statuses.get('POST 200')];
  await until('it answers alone', answered(laterGets + 100, laterPosts + 5));
  leaving.abort();
  await Promise.all(clients);
  const failed = [...statuses].filter(([what]) => !/ 20[0-9]$/.test(what));
  expect(failed).toEqual([]);
});
