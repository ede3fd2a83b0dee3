/** The executable on a machine whose clock is set while it works (`apt-get install faketime`). */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Administrator,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { runBeside } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const LIBRARIES = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (platform) => `/usr/lib/${platform}/faketime/libfaketime.so.1`,
);

let gateway: Gateway;
let root: Administrator;
let vendor: VendorProcess;
let receiver: Receiver;
let clockFile: string;

/** Sets the clock of the gateway, and nobody else's, so far from the right time. */
const setClock = (offset: string) => writeFileSync(clockFile, offset);

beforeAll(async () => {
  const library = LIBRARIES.find((path) => existsSync(path));
  if (library === undefined) throw new Error('this test needs libfaketime: apt-get install faketime');
  clockFile = join(temporaryFolder(), 'clock');
  setClock('+0');
  [vendor, receiver] = [await startVendor(), await startReceiver()];
  gateway = await startGateway({
    env: {
      ...{ LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: clockFile, FAKETIME_NO_CACHE: '1' },
      ...{ FAKETIME_DONT_FAKE_MONOTONIC: '1', WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8' },
    },
  });
  root = await setUp(gateway);
  await root.createChannel(vendor.url);
});
afterAll(async () => {
  await gateway?.stop();
  for (const each of [vendor, receiver]) await each?.stop();
});

test('tasks end, are billed and told once, however the clock is set while they run', async () => {
  const key = await root.createKey({ webhook_url: receiver.url });
  const finished = new Map<string, number>();
  // The first attempt fails, so that the next one waits for some seconds.
  receiver.answer(({ payload }, response) => {
    const attempt = (finished.get(payload.data.id) ?? 0) + 1;
    if (payload.type === 'task.finished') finished.set(payload.data.id, attempt);
    response.writeHead(payload.type === 'task.finished' && attempt === 1 ? 500 : 204).end();
  });
  for (const offset of ['+31', '-8h', '+0', '+1y', '-1y', '+0']) {
    const { status, body } = await submit(gateway.url, key, { prompt: 'a cat [duration=4]' });
    expect({ offset, status }).toEqual({ offset, status: 200 });
    const id = String(body.id);
    setClock(offset);
    const { fail_reason: reason, ...task } = await waitForEnd(gateway.url, key, id);
    expect({ offset, status: task.status, reason }).toEqual({ offset, status: 'SUCCESS', reason: '' });
    expect(await vendor.stats(id)).toMatchObject({ creates: 1 });
    await until(`the webhook is delivered at its second attempt, at ${offset}`, () => finished.get(id) === 2);
  }
  expect(gateway.log()).toContain('the clock of this machine was set back');
  expect(gateway.log()).toContain('set ahead, or the machine was suspended');
  const doctor = await runBeside(gateway, ['doctor', '--json']);
  expect(doctor.out).toContain('every balance is the sum of its ledger lines');
});
