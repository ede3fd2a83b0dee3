/** Wrong input to commands beside the gateway: they say what to do, and leave nothing behind. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { COMMANDS } from '../../src/app/cli/commands.ts';
import { databaseVersion } from '../../src/store/index.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { installedCopy } from '../support/release-folder.ts';
import { runCommand, SECRETS } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const NO_DATABASE =
  /^taskgate: there is no database in \S+: name the gateway's data directory by --data-dir or DATA_DIR\n$/;
/** What commands answer where the data directory is wrong. */
const IN_A_WRONG_FOLDER: Record<
  string,
  { words?: string[]; stdin?: string; says: RegExp } | 'makes one' | 'needs none'
> = {
  'admin reset-password': { words: ['--username', 'ada', '--password-stdin'], stdin: 'a password', says: NO_DATABASE },
  'admin export-user': { words: ['--username', 'ada'], says: NO_DATABASE },
  'admin erase-user': { words: ['--username', 'ada', '--yes'], says: NO_DATABASE },
  'restore-copy': { words: ['/nowhere'], says: NO_DATABASE },
  maintenance: { words: ['status'], says: NO_DATABASE },
  'move-database': { words: ['--to', '/nowhere/else'], says: NO_DATABASE },
  reconcile: { words: ['--vendor-csv', '/nowhere', '--channel', '1'], says: /\/nowhere cannot be read \(ENOENT\)/ },
  salvage: { words: ['--to', '/nowhere/else'], says: /There is no database in \S+: nothing can be salvaged/ },
  'backup create': { words: ['--to', '/nowhere', '--without-secrets'], says: NO_DATABASE },
  'secrets rotate': { says: NO_DATABASE },
  'results accept-folder': { says: NO_DATABASE },
  doctor: { says: /^$/ },
  open: { says: /no gateway is running/ },
  'backup list': { words: ['--from', '/nowhere'], says: /there is no folder \/nowhere/ },
  'backup verify': { words: ['--from', '/nowhere'], says: /there is no folder \/nowhere/ },
  'backup restore': { words: ['--from', '/nowhere'], says: /there is no folder \/nowhere/ },
  upgrade: { words: ['--back'], says: /no previous executable|only the compiled|belongs to a package/ },
  serve: 'makes one',
  start: 'makes one',
  migrate: 'makes one',
  'admin create-root': 'makes one',
  'import new-api': 'makes one',
  // Variables of the gateway under development, and what is only written into a unit.
  'plugin dev': 'makes one',
  'service install': 'needs none',
};

test('a table says what each command does with a wrong data directory', () => {
  const taking = COMMANDS.filter(({ options }) => 'data-dir' in options).map(({ name }) => name);
  expect(Object.keys(IN_A_WRONG_FOLDER).sort()).toEqual([...taking].sort());
});

for (const [name, expected] of Object.entries(IN_A_WRONG_FOLDER)) {
  if (typeof expected === 'string') continue;
  const { words = [], stdin = '', says } = expected;
  const places = { 'that is not there': false, 'without a database': true };
  for (const [what, exists] of Object.entries(places)) {
    test(`${name} with a data directory ${what} exits 1 and creates nothing`, async () => {
      const dataDir = join(temporaryFolder(), 'wrong');
      if (exists) mkdirSync(dataDir, { mode: 0o700 });
      const { code, err } = await runCommand([...name.split(' '), ...words, '--data-dir', dataDir], { stdin });
      expect([code, err]).toEqual([1, expect.stringMatching(says)]);
      expect(exists ? readdirSync(dataDir) : existsSync(dataDir)).toEqual(exists ? [] : false);
    });
  }
}

test('commands say that DATABASE_URL leads to an empty database, and create nothing there', async () => {
  const databaseUrl = await testDatabaseUrl();
  const env = { DATABASE_URL: databaseUrl, ...SECRETS };
  for (const argv of [['doctor'], ['secrets', 'rotate'], ['admin', 'export-user', '--username', 'ada']]) {
    const { code, out, err } = await runCommand(argv, { env });
    expect([code, out + err]).toEqual([
      1,
      expect.stringContaining('the database of DATABASE_URL is not one of a gateway'),
    ]);
  }
  expect(await databaseVersion({ databaseUrl, dataDir: '' })).toBe(0);
});

test('a service cannot be of the user and of the system', async () => {
  for (const command of ['install', 'uninstall', 'status']) {
    const { code, err } = await runCommand(['service', command, '--user', '--system']);
    expect([code, err]).toEqual([2, expect.stringContaining('--system and --user cannot be used together')]);
  }
});

test.skipIf(process.platform !== 'linux')('the service of the system takes no other data directory', async () => {
  // No service of the system runs a program in a home.
  const program = [installedCopy()];
  const install = (dataDir: string) =>
    runCommand(['service', 'install', '--system', '--print', '--data-dir', dataDir], { program });
  const { code, out, err } = await install('/srv/taskgate');
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('has its data in /var/lib/taskgate');
  const same = await install('/var/lib/taskgate/');
  expect([same.code, same.out]).toEqual([0, expect.stringContaining('Environment=DATA_DIR=/var/lib/taskgate')]);
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
  writeFileSync(unit, 'an earlier unit');
  expect((await install()).code).toBe(1);
  expect([readdirSync(dirname(unit)), await Bun.file(unit).text()]).toEqual([['taskgate.service'], 'an earlier unit']);
});
