/** docs/signed-vendor.md, word for word: its code in a file, its commands in three terminals. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBlocks, Terminal } from '../support/guide-terminal.ts';
import { BINARY } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setDefaultTimeout(120_000);

const GUIDE = readFileSync(new URL('../../docs/signed-vendor.md', import.meta.url), 'utf8');
const terminals = new Map<string, Terminal>();
afterAll(() => {
  for (const terminal of terminals.values()) terminal.close();
});

test('a plugin for signed requests, two steps and links that expire is made by the guide alone', async () => {
  const folder = temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(BINARY, join(bin, 'taskgate'));
  const pieces = [...GUIDE.matchAll(/^```js strict-films\.js\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
  expect(pieces).toHaveLength(5);
  writeFileSync(join(folder, 'strict-films.js'), pieces.join('\n'));
  for (const { terminal, running, commands } of readBlocks(GUIDE)) {
    const known = terminals.get(terminal);
    const where = known ?? new Terminal(folder, `${bin}:${process.env.PATH}`);
    terminals.set(terminal, where);
    for (const [index, command] of commands.entries()) {
      if (running && index === commands.length - 1) {
        const { from } = where.start(command.line);
        await where.shows(command.prints, from);
      } else await where.run(command);
    }
  }
  for (const name of ['second', 'first']) await terminals.get(name)?.interrupt();
}, 400_000);
