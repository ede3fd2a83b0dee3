/** Wrong input to commands beside the gateway: they say what to do, and leave nothing behind. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setDefaultTimeout(60_000);

test.each([
  [['admin', 'export-user', '--username', 'ada']],
  [['admin', 'erase-user', '--username', 'ada', '--yes']],
  [['backup', 'create', '--to', '/nowhere', '--without-secrets']],
])('%j with a wrong data directory names it, and creates nothing there', async (argv) => {
  const dataDir = join(temporaryFolder(), 'wrong');
  const { code, err } = await runCommand([...argv, '--data-dir', dataDir]);
  expect([code, err]).toEqual([
    1,
    `taskgate: there is no database in ${dataDir}: name the gateway's data directory by --data-dir or DATA_DIR\n`,
  ]);
  expect(existsSync(dataDir)).toBe(false);
});

test('a service cannot be of the user and of the system', async () => {
  for (const command of ['install', 'uninstall', 'status']) {
    const { code, err } = await runCommand(['service', command, '--user', '--system']);
    expect([code, err]).toEqual([2, expect.stringContaining('--system and --user exclude each other')]);
  }
});

test.skipIf(process.platform !== 'linux')('a service that the system does not take leaves what was there', async () => {
  const home = temporaryFolder();
  const unit = join(home, '.config/systemd/user/taskgate.service');
  // No systemctl on this PATH.
  const install = () => runCommand(['service', 'install', '--user'], { env: { HOME: home, PATH: home } });
  const refused = await install();
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('systemctl is not there')]);
  expect(existsSync(unit)).toBe(false);
  mkdirSync(dirname(unit), { recursive: true });
  writeFileSync(unit, 'of before');
  expect((await install()).code).toBe(1);
  expect([readdirSync(dirname(unit)), await Bun.file(unit).text()]).toEqual([['taskgate.service'], 'of before']);
});
