/** An answer that nobody can read is not success: scripts go on by the exit code. */
import { expect, test } from 'bun:test';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const intoFullDisk = ['sh', '-c', 'exec "$0" "$@" >/dev/full'];
const PIPED = ['sh', '-c', '"$0" "$@" | head -c 1 >&2'];

const createRoot = (dataDir: string) =>
  runCommand(['admin', 'create-root', '--username', 'ada', '--password-stdin', '--data-dir', dataDir], {
    stdin: 'correct horse battery',
  });

test.each(['version', 'version --json', '--help'])('%s into a full disk exits 1 and says why', async (words) => {
  const { code, err } = await runCommand(words.split(' '), { prefix: intoFullDisk });
  expect(err).toContain('taskgate: standard output cannot be written (ENOSPC)');
  expect(code).toBe(1);
});

test('a failed command keeps its own exit code and reason', async () => {
  const plain = await runCommand(['serve', '--prot', '80'], { prefix: intoFullDisk });
  expect([plain.code, plain.err.includes('ENOSPC')]).toEqual([2, false]);
  const json = await runCommand(['serve', '--prot', '80', '--json'], { prefix: intoFullDisk });
  expect(json.code).toBe(2);
  expect(json.err).toContain('ENOSPC');
});

test('the export of a person into a full disk stops and exits 1: the account may be erased next', async () => {
  const dataDir = temporaryFolder();
  await createRoot(dataDir);
  const argv = ['admin', 'export-user', '--username', 'ada', '--data-dir', dataDir];
  const { code, err } = await runCommand(argv, { prefix: intoFullDisk });
  expect(err.match(/standard output cannot be written/g)).toHaveLength(1);
  expect(code).toBe(1);
});

test('a reader that wants no more is no fault', async () => {
  const { code, err } = await runCommand(['serve', '--help'], { prefix: PIPED });
  expect([code, err]).toEqual([0, 't']);
});
