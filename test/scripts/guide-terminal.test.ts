/** The terminals in which guides are tested. */
import { afterAll, expect, test } from 'bun:test';
import { describeProcesses, listChildren } from '../support/child-processes.ts';
import { Terminal } from '../support/guide-terminal.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const terminals: Terminal[] = [];
const open = (): Terminal => {
  const terminal = new Terminal(temporaryFolder(), process.env.PATH ?? '');
  terminals.push(terminal);
  return terminal;
};
afterAll(() => {
  for (const terminal of terminals) terminal.close();
});

/** Takes its time to end after Ctrl-C, as a gateway that stops. */
const SLOW_END = `trap 'sleep 0.3; echo ended > state; exit' INT; echo ready; while :; do sleep 0.02; done`;

test('Ctrl-C waits until the command has ended, and the next command is not read by it', async () => {
  const terminal = open();
  for (let round = 0; round < 3; round += 1) {
    await terminal.run({ line: 'rm -f state', prints: '' });
    await terminal.shows('ready', terminal.startForPerson(SLOW_END));
    await terminal.interrupt();
    await terminal.run({ line: 'cat state', prints: 'ended' });
  }
});

test('a command that reads its input does not take the commands that follow', async () => {
  const terminal = open();
  await terminal.run({ line: 'cat', prints: '' });
  await terminal.run({ line: 'echo next', prints: 'next' });
});

test('a process that does not end is described with its children, threads and open files', async () => {
  const child = Bun.spawn(['sh', '-c', 'sleep 60 & wait'], { stdin: 'ignore' });
  try {
    const shell = String.raw`process \d+ \(S \(sleeping\)\): sh -c sleep 60 & wait\n  thread \d+: sh, \S+, [^]*`;
    const both = new RegExp(
      String.raw`^${shell}\nprocess \d+ \(S \(sleeping\)\): sleep 60\n  thread \d+: sleep, \S*nanosleep`,
    );
    const text = await until('both sleep', () => {
      const found = describeProcesses(child.pid);
      return both.test(found) && found;
    });
    expect(text).toContain('  file 0: /dev/null\n');
  } finally {
    for (const pid of [...listChildren(child.pid), child.pid]) process.kill(pid, 'SIGKILL');
  }
});
