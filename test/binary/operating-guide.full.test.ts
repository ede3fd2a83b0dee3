/** The commands of docs/operating, word for word, in folders of this test. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { sampleFile } from '../support/new-api-source.ts';
import { type ReleaseFolder, writeReleaseFolder } from '../support/release-folder.ts';
import { BINARY, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MANAGER = 'a test cannot ask the manager of services';
const NETWORK = 'needs a session, a proof or a server elsewhere: the panel API has its own tests';
const DOCKER = 'needs docker: test/release runs the rootfs';
const SETTINGS = 'settings, which test/app/config.test.ts reads';
/** What becomes of each block of each page: what runs here, or why it does not. */
const BLOCKS: Record<string, ('runs' | string)[]> = {
  'backup-and-upgrade.md': ['runs', 'runs'],
  'deploy.md': [SETTINGS, 'runs', 'needs systemd-run', SETTINGS, NETWORK],
  'install.md': ['runs', MANAGER, 'test/release installs the packages', DOCKER, DOCKER, DOCKER, DOCKER],
  'monitoring.md': ['test/binary/monitoring-guide.full.test.ts runs it'],
  'move-in.md': ['runs'],
  'network.md': [SETTINGS, 'test/binary/outbound-proxies.test.ts runs it'],
  'plugins.md': [NETWORK, NETWORK, NETWORK, NETWORK],
  'results.md': ['runs', SETTINGS],
  'retention.md': ['runs', 'runs'],
  'several-nodes.md': [SETTINGS, SETTINGS],
  'sign-in.md': [NETWORK, 'runs'],
  'upgrade.md': [
    'runs',
    'the same, with the settings of a service',
    'runs',
    'test/binary/restore-copy.full.test.ts puts copies into place',
  ],
};

const folder = temporaryFolder();
const bin = join(folder, 'bin');
let gateway: Gateway;
let release: ReleaseFolder;
beforeAll(async () => {
  for (const name of ['bin', 'etc', 'backups', 'data']) mkdirSync(join(folder, name));
  symlinkSync(BINARY, join(bin, 'taskgate'));
  symlinkSync(BINARY, join(bin, 'taskgatectl'));
  writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\necho "systemctl $*"\n', { mode: 0o755 });
  release = await writeReleaseFolder({ version: '99.0.0' });
  gateway = await startGateway({ dataDir: join(folder, 'data') });
  const admin = await setUp(gateway);
  await admin.call('POST', '/api/user', { username: 'ada', password: 'correct horse battery' });
});
afterAll(() => gateway.kill());

const pages = new URL('../../docs/operating/', import.meta.url);

/** The blocks for a shell of a page, with folders of this test in the place of the system's. */
const listBlocks = (page: string): string[] => {
  const text = readFileSync(new URL(page, pages), 'utf8');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) =>
    block
      .replaceAll('/etc/taskgate', join(folder, 'etc'))
      .replaceAll('/mnt/backups', join(folder, 'backups'))
      .replaceAll('/var/lib/taskgate', join(folder, 'restored'))
      .replaceAll('DATA_DIR/', `${join(folder, 'data')}/`),
  );
};

/** The block of a page that `BLOCKS` says runs here. */
function blockFor(page: string, at: number): string {
  expect([page, at, BLOCKS[page]?.[at]]).toEqual([page, at, 'runs']);
  return listBlocks(page)[at] ?? '';
}

test('each block of each page runs here, or a reason says why not', () => {
  const found = readdirSync(pages)
    .map((page) => [page, listBlocks(page).length] as const)
    .filter(([, count]) => count > 0);
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(BLOCKS).map(([page, blocks]) => [page, blocks.length])),
  );
});

async function runScript(lines: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(['bash', '-euc', lines.join('\n')], {
    cwd: folder,
    env: { PATH: `${bin}:${process.env.PATH}`, DATA_DIR: join(folder, 'data'), ...more },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([code, err]).toEqual([0, '']);
  return out;
}

test('backup-and-upgrade.md: a backup, and a restore from it', async () => {
  const [backUp, restore] = [blockFor('backup-and-upgrade.md', 0), blockFor('backup-and-upgrade.md', 1)];
  // This machine need not have the service's user.
  const [first = '', ...rest] = backUp.replaceAll(/ -[og] taskgate/g, '').split('\n');
  const write = `echo 'a passphrase of a test' > ${join(folder, 'etc/backup-passphrase')}`;
  const said = await runScript([first, write, ...rest, restore]);
  expect(said).toContain('made and verified the backup');
  expect(said).toContain('every balance is the sum of its ledger lines');
});

test('install.md: the checksums of what was downloaded', async () => {
  const [minisign = '', checksums = ''] = blockFor('install.md', 0).split('\n');
  const said = await runScript([`cd ${release.folder}`, checksums]);
  expect(said).toMatch(/^taskgate-99\.0\.0-\S+\.tar\.gz: OK\n$/);
  if (!findProgram(['minisign'])) return;
  expect(await runScript([`cd ${release.folder}`, minisign.replace('RWQ…', release.key.publicKey.text)])).toContain(
    'verified',
  );
});

test('deploy.md and sign-in.md: the first administrator, and a new password', async () => {
  const env = { DATA_DIR: join(folder, 'first') };
  writeFileSync(join(folder, 'password.txt'), 'correct horse battery');
  const said = await runScript([blockFor('deploy.md', 1)], env);
  expect(said).toContain('administrator "root" created');
  const reset = await runScript([blockFor('sign-in.md', 1)], { ...env, NEW_PASSWORD: 'another horse battery' });
  expect(reset).toContain('password of "root" set');
});

test('results.md: a folder of results is accepted', async () => {
  expect(await runScript([blockFor('results.md', 0)])).toContain('is the folder of results now');
});

test('move-in.md: a dry run, and the import', async () => {
  const env = { DATA_DIR: join(folder, 'moved') };
  const said = await runScript([blockFor('move-in.md', 0).replaceAll('/srv/new-api/one-api.db', sampleFile())], env);
  expect(said).toContain('a dry run: nothing is written');
  expect(said).toContain('users: 9 taken');
  expect(JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')).taken.user).toBe(9);
});

test('upgrade.md: to the newer release, and back', async () => {
  const own = temporaryFolder();
  copyFileSync(BINARY, join(own, 'taskgate'));
  chmodSync(join(own, 'taskgate'), 0o755);
  const version = async () =>
    (
      JSON.parse((await runCommand(['version', '--json'], { program: [join(own, 'taskgate')] })).out) as {
        version: string;
      }
    ).version;
  const env = { PATH: `${own}:${bin}:${process.env.PATH}` };
  const former = await version();
  const forth = blockFor('upgrade.md', 0)
    .replace('https://example.com/taskgate/releases/latest', release.folder)
    .replace('RWQ…', release.key.publicKey.text);
  const said = await runScript([forth], env);
  expect(said).toContain('taskgate 99.0.0 is available');
  expect(said).toContain('systemctl restart taskgate');
  expect(await version()).toBe('99.0.0');
  // The stand-in of a release knows no way back: the former one is asked.
  copyFileSync(BINARY, join(own, 'taskgate'));
  const { database } = JSON.parse((await runCommand(['version', '--json'])).out) as { database: number };
  writeFileSync(
    join(own, 'taskgate.previous'),
    `#!/bin/sh\necho '{"name":"taskgate","version":"0.0.9","database":${database}}'\n`,
    { mode: 0o755 },
  );
  expect(await runScript([blockFor('upgrade.md', 2)], env)).toContain('taskgate 0.0.9 is back');
  expect([await version(), existsSync(join(own, 'taskgate.previous')), former]).toEqual(['0.0.9', true, former]);
});

test("retention.md: a person's data is exported and erased", async () => {
  const [people, vacuum] = [blockFor('retention.md', 0), blockFor('retention.md', 1)];
  expect(await runScript([people])).toContain('is erased');
  const exported = JSON.parse(readFileSync(join(folder, 'ada.json'), 'utf8'));
  expect(JSON.stringify(exported)).toContain('"ada"');
  if (!findProgram(['sqlite3'])) return;
  await gateway.stop();
  await runScript([vacuum]);
});
