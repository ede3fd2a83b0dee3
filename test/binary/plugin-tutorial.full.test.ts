/** The commands of docs/plugins.md, word for word, in two terminals, with what they print. */
import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { readBlocks, Terminal } from '../support/guide-terminal.ts';
import { BINARY } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const GUIDE = readFileSync(new URL('../../docs/plugins.md', import.meta.url), 'utf8');
const terminals: Terminal[] = [];
afterAll(() => {
  for (const terminal of terminals) terminal.close();
});

test('the tutorial works word for word', async () => {
  const folder = temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(BINARY, join(bin, 'taskgate'));
  const path = `${bin}:${process.env.PATH}`;
  const open = (at: string): Terminal => {
    const terminal = new Terminal(at, path);
    terminals.push(terminal);
    return terminal;
  };
  const first = open(folder);
  let second: Terminal | undefined;

  const blocks = readBlocks(GUIDE);
  expect(blocks.flatMap(({ commands }) => commands).length).toBeGreaterThan(15);
  for (const { terminal, running, commands, says } of blocks) {
    if (terminal === 'second') second ??= open(join(folder, 'paper'));
    const where = terminal === 'second' && second ? second : first;
    if (commands.length === 0) {
      await where.shows(says);
      continue;
    }
    await where.interrupt();
    for (const [index, command] of commands.entries()) {
      if (running && index === commands.length - 1) {
        await where.shows(command.prints, where.startForPerson(command.line));
      } else await where.run(command);
    }
  }
  await first.interrupt();
});
