/**
 * The whole drill: load, a backup under load, SIGKILL, everything wiped, a restore into an empty
 * place. The vendor's own count and the ledger decide.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeBackupKey } from '../support/backup-key.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  setUp,
  signIn,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { databaseEnvironment, runCommand } from '../support/run-command.ts';
import { S3_KEYS, type S3Server, startS3Server } from '../support/s3-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const ENV = {
  TASK_POLL_INTERVAL_SECONDS: '1',
  WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8',
  LOG_LEVEL: 'warn',
};
const BALANCE_PER_USD = 500_000;

type Order = { id: string; idempotencyKey: string };

export function describeBackupDrill(
  database: 'SQLite' | 'PostgreSQL',
  { bucket = false, orders = 12 }: { bucket?: boolean; orders?: number } = {},
): void {
  describe(`the drill on ${database}, ${bucket ? 'with a bucket' : 'with a folder'}`, () => {
    let vendor: VendorProcess;
    let receiver: Receiver;
    let s3: S3Server | undefined;
    let gateway: Gateway;
    let admin: Administrator;
    let key: string;
    let env: Record<string, string>;
    let place: string;
    let identityFile: string;

    beforeAll(async () => {
      vendor = await startVendor();
      receiver = await startReceiver();
      s3 = bucket ? await startS3Server() : undefined;
      place = s3 ? `s3://results/backups?endpoint=${s3.url}` : join(temporaryFolder(), 'backups');
      const backupKey = await makeBackupKey();
      identityFile = backupKey.identityFile;
      env = {
        ...ENV,
        BACKUP_RECIPIENTS: backupKey.recipient,
        ...(s3
          ? { BACKUP_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId, BACKUP_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey }
          : {}),
      };
      const databaseUrl = database === 'PostgreSQL' ? await testDatabaseUrl() : '';
      gateway = await startGateway({ databaseUrl, port: await freePort(), env });
      admin = await setUp(gateway);
      await admin.createChannel(vendor.url);
      await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.01' });
      await admin.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
      await admin.call('PUT', '/api/option', { key: 'results.keep_inputs', value: 'true' });
      key = await admin.createKey();
    });
    afterAll(async () => {
      await gateway.kill();
      await vendor.stop();
      await receiver.stop();
      await s3?.stop();
    });

    const backup = (words: string, options: string[] = [], at = gateway) =>
      runCommand(['backup', words, '--json', '--data-dir', at.dataDir, ...options], {
        env: { ...databaseEnvironment(at.databaseUrl), ...env, PATH: process.env.PATH ?? '' },
      });

    const order = async (n: number, prompt: string): Promise<Order> => {
      const idempotencyKey = `order-${n}`;
      const { status, body } = await ask(`${gateway.url}/v1/tasks/demo`, {
        token: key,
        headers: { 'idempotency-key': idempotencyKey },
        body: { model: 'demo-video', prompt },
      });
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
      return { id: String(body.id), idempotencyKey };
    };
    /** A request with a file, which is kept beside its result. */
    async function orderWithFile(): Promise<string> {
      const form = new FormData();
      form.set('model', 'demo-video');
      form.set('prompt', 'with a file [duration=0.3]');
      form.set('input_reference', new File([new Uint8Array(2000)], 'cat.png', { type: 'image/png' }));
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${gateway.url}/v1/videos`, { method: 'POST', headers, body: form });
      return ((await response.json()) as { id: string }).id;
    }
    const readFiles = async (): Promise<number> =>
      (await admin.call<{ files: number }>('GET', '/api/user/self/storage')).files;
    const promptFor = (n: number): string => `order ${n} [duration=${n % 3 === 0 ? 20 : 0.3}]`;

    test('nothing from before the backup is lost, and nothing is ordered twice', async () => {
      const before: Order[] = [];
      for (let n = 0; n < orders; n += 1) before.push(await order(n, promptFor(n)));
      const finished = before.filter((_, n) => n % 3 !== 0);
      for (const { id } of finished) await waitForEnd(gateway.url, key, id);
      const waitUntilKept = (id: unknown, token = key) =>
        until('its results are kept', async () => {
          const { body } = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token });
          const text = JSON.stringify(body);
          return text.includes('"kept":"kept"') && !text.includes('"kept":"pending"');
        });
      await waitUntilKept(finished.at(-1)?.id);
      const withFile = await orderWithFile();
      const files = await readFiles();
      await waitForEnd(gateway.url, key, withFile);
      await until('its result is kept beside its file', async () => (await readFiles()) > files);
      // A receiver that fails: its webhook is undelivered at the backup.
      receiver.answer((_, response) => void response.writeHead(500).end());
      const hookedKey = await admin.createKey({ webhook_url: receiver.url });
      const hooked = await submit(gateway.url, hookedKey, { prompt: 'hooked [duration=0.3]' });
      expect(hooked.status).toBe(200);
      await until('the webhook was tried', () =>
        receiver.received.some(({ payload }) => payload.type === 'task.finished'),
      );
      // A result that is kept after the restore is told again.
      await waitUntilKept(hooked.body.id, hookedKey);

      // Load goes on while the backup is made.
      let stopped = false;
      const later: Order[] = [];
      const loading = (async () => {
        for (let n = orders; !stopped; n += 1) later.push(await order(n, promptFor(n)));
      })();
      const made = await backup('create', ['--to', place]);
      stopped = true;
      await loading;
      expect([made.code, made.err]).toEqual([0, '']);
      const { manifest } = JSON.parse(made.out);
      expect(manifest.results.count).toBeGreaterThan(0);
      const verified = await backup('verify', ['--from', place, '--results', '--identity', identityFile]);
      expect([verified.code, verified.err]).toEqual([0, '']);

      await gateway.kill();
      rmSync(gateway.dataDir, { recursive: true, force: true });
      receiver.answer((_, response) => void response.writeHead(204).end());
      const creates = Number((await vendor.stats()).creates);

      const dataDir = join(temporaryFolder(), 'restored');
      mkdirSync(dataDir);
      const databaseUrl = database === 'PostgreSQL' ? await testDatabaseUrl() : '';
      const restored = await backup('restore', ['--from', place, '--identity', identityFile], {
        ...gateway,
        dataDir,
        databaseUrl,
      });
      expect([restored.code, restored.err]).toEqual([0, '']);
      const again = await backup('restore', ['--from', place, '--identity', identityFile], {
        ...gateway,
        dataDir,
        databaseUrl,
      });
      expect(again.code).toBe(1);
      expect(again.out).toContain('not empty');

      // What the killed gateway had sent has arrived by now.
      const seen = receiver.received.length;
      const formerToken = admin.token;
      gateway = await startGateway({ dataDir, databaseUrl, port: gateway.port, env });
      expect((await ask(`${gateway.url}/api/user/self`, { token: formerToken })).status).toBe(401);
      admin = await signIn(gateway.url);

      // Every earlier task is there; a repeat of its request orders nothing.
      for (const [n, { id }] of before.entries()) {
        const repeated = await order(n, promptFor(n));
        expect(repeated.id).toBe(id);
        expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
        expect(await vendor.stats(id)).toMatchObject({ creates: 1 });
      }
      // Each known task of those submitted in between was ordered once, or ended with a refund.
      const known: string[] = [];
      for (const { id } of later) {
        const { status } = await ask(`${gateway.url}/v1/tasks/${id}`, { token: key });
        if (status !== 200) continue;
        known.push((await waitForEnd(gateway.url, key, id)).status);
        expect(Number((await vendor.stats(id)).creates)).toBeLessThanOrEqual(1);
      }
      expect(Number((await vendor.stats()).creates)).toBe(creates);
      expect((await vendor.stats()).duplicate_references).toEqual({});

      // Webhooks from before the restore stay unsent, results are there, the ledger is right.
      expect(receiver.received.slice(seen).map(({ payload }) => payload)).toEqual([]);
      const content = await fetch(`${gateway.url}/v1/videos/${finished[0]?.id}/content`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect([content.status, (await content.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
      const doctor = await runCommand(['doctor', '--results', '--verify', '--json', '--data-dir', dataDir], {
        env: { ...databaseEnvironment(databaseUrl), ...env },
      });
      const findings = JSON.parse(doctor.out).findings as { check: string; level: string; message: string }[];
      expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
      // What the user has spent is the price of the tasks that succeeded.
      const { used_quota } = await admin.call<{ used_quota: number }>('GET', '/api/user/self');
      const succeeded = before.length + 2 + known.filter((status) => status === 'SUCCESS').length;
      expect(used_quota).toBe(Math.round(succeeded * 0.01 * BALANCE_PER_USD));
      // The file of the request is there: the task can be run again.
      const retried = await admin.call<{ id: string }>('POST', `/api/task/${withFile}/retry`);
      expect((await waitForEnd(gateway.url, key, retried.id)).status).toBe('SUCCESS');
    });

    test('a second backup holds each kept result once, and has the id of another installation', async () => {
      const list = async () =>
        JSON.parse((await backup('list', ['--from', place])).out).backups as {
          installation: string;
          results: { count: number };
        }[];
      const made = await backup('create', ['--to', place]);
      expect([made.code, made.err, made.code === 0 ? '' : made.out]).toEqual([0, '', '']);
      const [second, first] = await list();
      expect(second?.results.count).toBeGreaterThanOrEqual(first?.results.count ?? 1);
      expect(second?.installation).not.toBe(first?.installation);
    });

    test('neither the key nor a secret is in any output or in the manifest', async () => {
      const { out } = await backup('list', ['--from', place]);
      const secrets =
        gateway.databaseUrl === ''
          ? Object.values(JSON.parse(readFileSync(join(gateway.dataDir, 'secrets.json'), 'utf8')) as object)
          : Object.values(databaseEnvironment(gateway.databaseUrl));
      const [, identity = ''] = readFileSync(identityFile, 'utf8').split('\n');
      for (const secret of [identity, ...secrets]) expect(out).not.toContain(String(secret));
    });
  });
}
