import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTaskgate } from './run-taskgate.ts';

/** The first block of a language in a guide. */
function firstBlock(guide: string, language: string): string {
  const text = readFileSync(join(import.meta.dir, '../../docs', guide), 'utf8');
  return text.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
}

test("the plugin guide's plugin is valid and passes its own cases", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'taskgate-guide-'));
  const plugin = join(folder, 'paper.js');
  const fixture = join(folder, 'paper.fixture.json');
  writeFileSync(plugin, firstBlock('plugins.md', 'js'));
  writeFileSync(fixture, firstBlock('plugins.md', 'json'));

  const lint = await runTaskgate(['plugin', 'lint', plugin]);
  expect(lint.out).toBe(`${plugin}: paper@1.0.0 is valid\n`);
  const run = await runTaskgate(['plugin', 'test', plugin, '--fixture', fixture]);
  expect(run.out).toContain('5 of 5 cases passed');
  expect([lint.code, run.code]).toEqual([0, 0]);
});
