/** docs/signed-vendor.md, word for word: its code in a file, its commands in three terminals. */
import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBlocks, Terminal } from '../support/guide-terminal.ts';
import { BINARY, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const GUIDE = readFileSync(new URL('../../docs/signed-vendor.md', import.meta.url), 'utf8');
const terminals = new Map<string, Terminal>();
afterAll(() => {
  for (const terminal of terminals.values()) terminal.close();
});

const readPieces = (language: string): string[] =>
  [...GUIDE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text);

test('a plugin for signed requests, two steps and links that expire is made by the guide alone', async () => {
  const folder = temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(BINARY, join(bin, 'taskgate'));
  const pieces = readPieces('js strict-films\\.js');
  expect(pieces).toHaveLength(5);
  writeFileSync(join(folder, 'strict-films.js'), pieces.join('\n'));
  for (const { terminal, running, commands } of readBlocks(GUIDE)) {
    const known = terminals.get(terminal);
    const where = known ?? new Terminal(folder, `${bin}:${process.env.PATH}`);
    terminals.set(terminal, where);
    await where.interrupt();
    for (const [index, command] of commands.entries()) {
      if (running && index === commands.length - 1) {
        await where.shows(command.prints, where.startForPerson(command.line));
      } else await where.run(command);
    }
  }
  for (const name of ['second', 'first']) await terminals.get(name)?.interrupt();
});

test('the same plugin is free of type errors in TypeScript, with the lines that the guide gives', async () => {
  const folder = temporaryFolder();
  expect((await runCommand(['plugin', 'new', 'Strict Films', '--typescript'], { cwd: folder })).code).toBe(0);
  const declared = (line: string) => /^\s*(?:export )?(?:const|function) (\w+)/.exec(line)?.[1];
  const lines = readPieces('js strict-films\\.js').join('\n').split('\n');
  for (const instead of readPieces('ts instead').join('').trimEnd().split('\n')) {
    const at = lines.findIndex((line) => declared(line) === declared(instead));
    expect([instead, at]).not.toEqual([instead, -1]);
    lines[at] = instead;
  }
  const file = join(folder, 'strict-films.ts');
  writeFileSync(file, [...readPieces('ts strict-films\\.ts'), ...lines].join('\n'));
  const tsc = new URL('../../node_modules/.bin/tsc', import.meta.url).pathname;
  expect((await Bun.$`${tsc} -p ${folder}`.nothrow().quiet()).stdout.toString()).toBe('');
  expect((await runCommand(['plugin', 'build', file], { cwd: folder })).out).toContain('strict-films@1.0.0');
});
