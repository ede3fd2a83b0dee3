/** PostgreSQL behind PgBouncer, over TLS with a private authority, and without its primary. */
import { afterEach, describe, expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { SQL } from 'bun';
import { testInFullRun } from '../support/full-run.ts';
import { type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { makeCertificate } from '../support/make-certificate.ts';
import { startOwnPostgres, startPgBouncer } from '../support/own-postgres.ts';
import { runBeside } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Options = NonNullable<Parameters<typeof startGateway>[0]>;

async function start(options: Options): Promise<Gateway> {
  const gateway = await startGateway({
    ...options,
    env: { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true', ...options.env },
  });
  closing.push(() => gateway.kill());
  return gateway;
}

async function openWork(gateway: Gateway) {
  const vendor = await startVendor();
  closing.push(() => vendor.stop());
  const admin = await setUp(gateway);
  await admin.createChannel(vendor.url);
  return { vendor, admin, key: await admin.createKey() };
}

/** A TCP proxy whose target can be changed: what an address that moves to another server does. */
async function startMovingAddress(target: number) {
  let port = target;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const onward = connect(port, '127.0.0.1');
    for (const each of [client, onward]) {
      sockets.add(each);
      each.on('error', () => undefined);
      each.on('close', () => {
        sockets.delete(each);
        client.destroy();
        onward.destroy();
      });
    }
    client.pipe(onward).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.close();
    for (const each of sockets) each.destroy();
  });
  return {
    url: `postgres://postgres@127.0.0.1:${(server.address() as { port: number }).port}/postgres`,
    moveTo(to: number) {
      port = to;
      for (const each of sockets) each.destroy();
    },
  };
}

describe('PostgreSQL', () => {
  testInFullRun('behind PgBouncer: two nodes submit, poll, learn of changes and work exclusively', async () => {
    const server = await startOwnPostgres();
    closing.push(() => server.kill());
    const pooler = await startPgBouncer(server, ['default_pool_size=5']);
    closing.push(() => pooler.stop());
    const options = { databaseUrl: server.url, env: { DATABASE_POOL_URL: pooler.url, SYNC_FREQUENCY: '3600' } };
    const first = await start(options);
    const second = await start(options);
    const { vendor, admin, key } = await openWork(first);
    const nodes = [first, second];
    const ids = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const { status, body } = await submit(nodes[index % 2]?.url ?? '', key, { seconds: 5 });
        expect(status).toBe(200);
        return String(body.id);
      }),
    );
    for (const id of ids) {
      expect((await waitForEnd(second.url, key, id)).status).toBe('SUCCESS');
      expect(await vendor.stats(id)).toMatchObject({ creates: 1 });
    }
    // SYNC_FREQUENCY is an hour: only a notification tells the other node.
    await admin.call('PUT', '/api/option', { options: [{ key: 'SystemName', value: 'Told at once' }] });
    await until('the other node knows', async () =>
      (await (await fetch(`${second.url}/api/status`)).text()).includes('Told at once'),
    );
    expect(await runBeside(first, ['doctor', '--json'])).toMatchObject({ code: 0 });
    for (const node of nodes) expect(node.log()).not.toContain('prepared statement');
  });

  testInFullRun('over TLS: the certificate of a private authority is checked, and the name in it', async () => {
    const folder = temporaryFolder();
    const [own, other] = [makeCertificate(folder, 'own'), makeCertificate(folder, 'other')];
    const tls = { cert: readFileSync(own.cert, 'utf8'), key: readFileSync(own.key, 'utf8') };
    const server = await startOwnPostgres({ tls });
    closing.push(() => server.kill());
    const urlFor = (host: string, ca: string) =>
      `postgres://postgres@${host}:${server.port}/postgres?sslmode=verify-full&sslrootcert=${ca}`;
    const gateway = await start({ databaseUrl: urlFor('localhost', own.cert) });
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    const sql = new SQL({ url: server.url, max: 1 });
    closing.push(() => sql.close());
    const open = await sql`select ssl from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name = 'taskgate'`;
    expect(open.every(({ ssl }: { ssl: boolean }) => ssl)).toBe(true);
    await expect(start({ databaseUrl: urlFor('localhost', other.cert) })).rejects.toThrow('the gateway ended');
    await expect(start({ databaseUrl: urlFor('127.0.0.1', own.cert) })).rejects.toThrow('the gateway ended');
  });

  testInFullRun('loses its primary: no task that was accepted is lost or ordered twice', async () => {
    const primary = await startOwnPostgres({ settings: ['wal_level=replica', 'fsync=off'] });
    closing.push(() => primary.kill());
    const standby = await startOwnPostgres({ standbyOf: primary });
    closing.push(() => standby.kill());
    const sql = new SQL({ url: primary.url, max: 1 });
    await sql.unsafe("alter system set synchronous_standby_names = '*'");
    await sql.unsafe('select pg_reload_conf()');
    await until('the standby follows', async () => {
      const [row] = await sql`select sync_state from pg_stat_replication`;
      return row?.sync_state === 'sync';
    });
    await sql.close();
    const address = await startMovingAddress(primary.port);
    const first = await start({ databaseUrl: address.url });
    const second = await start({ databaseUrl: address.url });
    const { vendor, key } = await openWork(first);
    const accepted: string[] = [];
    let isOver = false;
    const clients = [first, second].map(async ({ url }) => {
      while (!isOver) {
        const { status, body } = await submit(url, key, { seconds: 5 }).catch(() => ({ status: 0, body: {} }));
        if (status === 200) accepted.push(String((body as { id: string }).id));
      }
    });
    await until('there is work', () => accepted.length > 20);
    await primary.kill();
    await standby.promote();
    // The new primary has no standby yet; commits must not wait for one.
    const own = new SQL({ url: standby.url, max: 1 });
    await own.unsafe('alter system reset synchronous_standby_names');
    await own.unsafe('select pg_reload_conf()');
    await own.close();
    address.moveTo(standby.port);
    const before = accepted.length;
    await until('tasks are accepted again', () => accepted.length > before + 20);
    isOver = true;
    await Promise.all(clients);
    for (const id of accepted) {
      expect((await waitForEnd(second.url, key, id)).status).toBe('SUCCESS');
      expect(await vendor.stats(id)).toMatchObject({ creates: 1 });
    }
    // Every task's lines add up to its price, and every balance is the sum of its lines.
    expect(await runBeside(first, ['doctor', '--json'])).toMatchObject({ code: 0 });
  });
});
