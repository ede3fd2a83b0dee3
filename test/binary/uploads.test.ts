/**
 * Uploads on the executable when the disk is small, the process is killed, or the host name is
 * unusual.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  type Gateway,
  type GatewayOptions,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const gateways: Gateway[] = [];
let vendor: VendorProcess;

beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.kill();
  await vendor?.stop();
});

async function open(options: GatewayOptions) {
  const gateway = await startGateway(options);
  gateways.push(gateway);
  const admin = await setUp(gateway);
  await admin.createChannel(vendor.url);
  return { gateway, key: await admin.createKey() };
}

const readForm = (bytes: Uint8Array<ArrayBuffer>): FormData => {
  const form = new FormData();
  form.set('model', 'demo-video');
  form.set('prompt', 'a cat [instant]');
  form.set('input_reference', new File([bytes], 'cat.png', { type: 'image/png' }));
  return form;
};

async function upload(url: string, key: string, size: number) {
  const bytes = new Uint8Array(size).fill(65);
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body: readForm(bytes) });
  const body = (await response.json()) as { id?: string; error?: { code: string; message: string } };
  return { status: response.status, body, sha256: createHash('sha256').update(bytes).digest('hex') };
}

async function vendorImage(taskId: string | undefined): Promise<unknown> {
  const { jobs } = (await vendor.stats(taskId)) as { jobs: { id: string }[] };
  const headers = { authorization: 'Bearer demo-vendor-key' };
  return ((await (await fetch(`${vendor.url}/v1/jobs/${jobs[0]?.id}`, { headers })).json()) as { image: unknown })
    .image;
}

const roomFor = (path: string): number => {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
};

test('an upload for which there is no space is 503 and frees its space; smaller ones go on', async () => {
  const dataDir = temporaryFolder();
  const mount = `mount -t tmpfs -o size=10m tmpfs ${dataDir} && exec "$0" "$@"`;
  const { gateway, key } = await open({ dataDir, prefix: ['unshare', '-Urm', 'sh', '-c', mount] });
  const inside = `/proc/${gateway.pid}/root${dataDir}`;
  const room = roomFor(inside);
  expect(room).toBeLessThan(20 * MIB);
  const earlier = (await vendor.stats()).creates;

  const refused = await upload(gateway.url, key, 20 * MIB);
  expect([refused.status, refused.body.error?.code]).toEqual([503, 'upload_storage']);
  expect(refused.body.error?.message).toContain('try again');
  expect((await vendor.stats()).creates).toBe(earlier);
  await until('the space is free again', () => roomFor(inside) > room - MIB);

  const taken = await upload(gateway.url, key, 2 * MIB);
  expect(taken.status).toBe(200);
  expect(await vendorImage(taken.body.id)).toEqual({ bytes: 2 * MIB, sha256: taken.sha256 });
  await gateway.logged('ENOSPC');
  await until('nothing is left of them', () => readdirSync(join(inside, 'taskgate.uploads')).length === 0);
});

test('a process that is killed in the middle of an upload leaves nothing behind', async () => {
  const { gateway, key } = await open({});
  const folder = join(gateway.dataDir, 'taskgate.uploads');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const socket = connect(gateway.port, '127.0.0.1');
  socket.on('error', () => {});
  // A host of two letters: such a request is handed on under another address, together with its
  // body.
  socket.write(
    `POST /v1/videos HTTP/1.1\r\nHost: tg\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 9000000\r\n\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n`,
  );
  socket.write(Buffer.alloc(3 * MIB, 'x'));
  const openFiles = () =>
    readdirSync(`/proc/${gateway.pid}/fd`).filter((descriptor) => {
      try {
        return readlinkSync(`/proc/${gateway.pid}/fd/${descriptor}`).startsWith(folder);
      } catch {
        return false;
      }
    });
  await until('the file is being written', () => openFiles().length === 1);
  // On POSIX the file is unlinked right after opening.
  await until('it has no name any more', () => readdirSync(folder).length === 0);
  await gateway.kill();
  expect(readdirSync(folder)).toEqual([]);

  // As a system that cannot unlink open files would have left it.
  writeFileSync(join(folder, 'left.part'), 'x');
  const again = await startGateway({ dataDir: gateway.dataDir });
  gateways.push(again);
  expect(readdirSync(folder)).toEqual([]);
  const taken = await upload(again.url, key, 300_000);
  expect([taken.status, await vendorImage(taken.body.id)]).toEqual([200, { bytes: 300_000, sha256: taken.sha256 }]);
});
