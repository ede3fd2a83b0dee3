import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

describe('a disk that becomes full or read-only under a gateway', () => {
  let gateway: Gateway;
  let root: Administrator;
  /** The data directory in the gateway's mount namespace. */
  let inside = '';
  beforeAll(async () => {
    const dataDir = temporaryFolder();
    const uploads = join(dataDir, 'taskgate.uploads');
    const mounts = `mount -t tmpfs -o size=24m tmpfs ${dataDir} && mkdir ${uploads} && mount -t tmpfs -o size=8m tmpfs ${uploads}`;
    const prefix = ['unshare', '-Urm', 'sh', '-c', `${mounts} && cd / && exec "$0" "$@"`];
    gateway = await startGateway({ dataDir, prefix, env: { METRICS_TOKEN: 'metrics-token-of-the-tests' } });
    root = await setUp(gateway);
    inside = `/proc/${gateway.pid}/root${dataDir}`;
  });
  afterAll(() => gateway.stop());

  const ready = () => ask(`${gateway.url}/readyz`);
  const attention = async () =>
    (await root.call<{ code: string; message: string }[]>('GET', '/api/attention')).filter(
      ({ code }) => code === 'disk_unwritable',
    );
  const untilReason = (reason: string) =>
    until(`/readyz says that the disk ${reason}`, async () => {
      const { status, body } = await ready();
      return status === 503 && String((body.reasons as { disk?: string } | undefined)?.disk).includes(reason);
    });
  const untilReady = () => until('the gateway is ready again', async () => (await ready()).status === 200);

  test('full: /readyz 503 with the reason, attention, free bytes; and it recovers by itself', async () => {
    const { body } = await ask(`${gateway.url}/metrics`, { token: 'metrics-token-of-the-tests' });
    expect(body.text).toMatch(/taskgate_disk_free_bytes\{place="data"\} [1-9]\d+/);
    const file = join(inside, 'fill');
    try {
      for (;;) appendFileSync(file, Buffer.alloc(64 * 1024));
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
    }
    await untilReason('is full');
    // The watch of disks may say so, or the write that failed.
    expect(await attention()).toMatchObject([
      { message: expect.stringMatching(/^The disk (of|that holds) the data directory is full\./) },
    ]);
    expect((await ask(`${gateway.url}/livez`)).status).toBe(200);
    rmSync(file);
    await untilReady();
    expect(await attention()).toEqual([]);
  });

  test('read-only: the folder of uploads counts too', async () => {
    const remount = (how: string) => {
      const { exitCode, stderr } = Bun.spawnSync([
        ...['nsenter', `--target=${gateway.pid}`, '--user', '--mount', '--preserve-credentials'],
        ...['mount', '-o', `remount,${how}`, join(gateway.dataDir, 'taskgate.uploads')],
      ]);
      expect([exitCode, stderr.toString()]).toEqual([0, '']);
    };
    remount('ro');
    await untilReason('is read-only');
    expect(await attention()).toHaveLength(1);
    remount('rw');
    await untilReady();
  });
});
