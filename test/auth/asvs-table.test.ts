/** The ASVS table in the security guide and the ids in test names agree. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ID = /\d+\.\d+\.\d+/g;

/** Id → status, for each row of the guide's table. */
function readTable(): Map<string, string> {
  const guide = readFileSync(join(import.meta.dir, '../../docs/security.md'), 'utf8');
  const lines = (guide.split('## ASVS')[1] ?? '').split('\n').filter((line) => /^\| \d/.test(line));
  return new Map(
    lines.flatMap((line) => {
      const [, ids = '', , status = ''] = line.split('|').map((cell) => cell.trim());
      return [...ids.matchAll(ID)].map(([id]) => [id, status] as const);
    }),
  );
}

/** The ids at the start of test names. */
function readTests(): Set<string> {
  const ids = new Set<string>();
  for (const file of readdirSync(import.meta.dir).filter((name) => /^asvs-.*\.test\.ts$/.test(name))) {
    const text = readFileSync(join(import.meta.dir, file), 'utf8');
    for (const [, named = ''] of text.matchAll(/test\(\s*['"`]ASVS ([\d., ]+)/g)) {
      for (const [id] of named.matchAll(ID)) ids.add(id);
    }
  }
  return ids;
}

test('each requirement that the guide lists as met has a test, and each tested one is listed', () => {
  const [table, tests] = [readTable(), readTests()];
  expect(table.size).toBeGreaterThan(40);
  const untested = [...table].filter(([id, status]) => status.startsWith('met') && !tests.has(id)).map(([id]) => id);
  expect(untested).toEqual([]);
  expect([...tests].filter((id) => !table.has(id))).toEqual([]);
  for (const [id, status] of table)
    expect([id, status]).toEqual([id, expect.stringMatching(/^(met|not met|partly|optional)/)]);
});
