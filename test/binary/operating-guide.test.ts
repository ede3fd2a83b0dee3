/** The commands of docs/operating about data, word for word, in folders of this test. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { BINARY } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setDefaultTimeout(120_000);

const folder = temporaryFolder();
let gateway: Gateway;
beforeAll(async () => {
  for (const name of ['bin', 'etc', 'backups', 'data']) mkdirSync(join(folder, name));
  symlinkSync(BINARY, join(folder, 'bin/taskgate'));
  gateway = await startGateway({ dataDir: join(folder, 'data') });
  const admin = await setUp(gateway);
  await admin.call('POST', '/api/user', { username: 'ada', password: 'correct horse battery' });
});
afterAll(() => gateway.kill());

/** The blocks for a shell of a page, with folders of this test in the place of the system's. */
const blocksOf = (page: string): string[] => {
  const text = readFileSync(new URL(`../../docs/operating/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) =>
    block
      .replaceAll('/etc/taskgate', join(folder, 'etc'))
      .replaceAll('/mnt/backups', join(folder, 'backups'))
      .replaceAll('/var/lib/taskgate', join(folder, 'restored'))
      .replaceAll('DATA_DIR/', `${join(folder, 'data')}/`),
  );
};

async function runScript(lines: readonly string[]): Promise<string> {
  const child = Bun.spawn(['bash', '-euc', lines.join('\n')], {
    cwd: folder,
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, DATA_DIR: join(folder, 'data') },
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

test('backup-and-upgrade.md: a back-up, and a restore from it', async () => {
  const [backUp = '', restore = ''] = blocksOf('backup-and-upgrade.md');
  const [first = '', ...rest] = backUp.split('\n');
  const write = `echo 'a passphrase of a test' > ${join(folder, 'etc/backup-passphrase')}`;
  const said = await runScript([first, write, ...rest, restore]);
  expect(said).toContain('made and verified the back-up');
  expect(said).toContain('every balance is the sum of its ledger lines');
});

test("retention.md: a person's data is exported and erased", async () => {
  const [people = '', vacuum = ''] = blocksOf('retention.md');
  expect(await runScript([people])).toContain('is erased');
  const exported = JSON.parse(readFileSync(join(folder, 'ada.json'), 'utf8'));
  expect(JSON.stringify(exported)).toContain('"ada"');
  if (!findProgram(['sqlite3'])) return;
  await gateway.stop();
  await runScript([vacuum]);
});
