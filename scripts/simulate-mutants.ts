import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMismatches, MUTANTS, type Mutant } from '../test/simulation/mutants.ts';

const ROOT = join(import.meta.dir, '..');
const COPIED = ['src', 'test', 'scripts', 'migrations', 'contracts', 'build', 'package.json', 'tsconfig.json'];
/** A planted fault that this many seeds do not find shows that a rule is missing. */
const SEEDS = 200;

/**
 * Plants each fault in a copy of the source, and runs seeds until a rule is broken. Exit code 1:
 * one was not found, or its text does not stand in the source any more. `text`: of their names.
 */
export async function runMutants(text = ''): Promise<number> {
  const mismatches = findMismatches(ROOT);
  if (mismatches.length > 0) throw new Error(mismatches.join('\n'));
  const left = MUTANTS.filter(({ name }) => name.includes(text));
  let code = 0;
  const work = async (): Promise<void> => {
    const copy = mkdtempSync(join(tmpdir(), 'taskgate-mutants-'));
    try {
      for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
        const found = await findMutant(copy, mutant);
        if (found === undefined) code = 1;
        console.log(`${mutant.name}: ${found ?? `not found by ${SEEDS} seeds`}`);
      }
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), left.length) }, work));
  return code;
}

/** What found it; undefined: nothing did. */
async function findMutant(copy: string, { edits, postgres }: Mutant): Promise<string | undefined> {
  try {
    for (const { file, search, replace } of edits) {
      const source = readFileSync(join(copy, file), 'utf8');
      writeFileSync(
        join(copy, file),
        source.replace(search, () => replace),
      );
    }
    const args = ['--seeds', `${SEEDS}`, '--shard', '1', '--first', ...(postgres ? ['--postgres'] : [])];
    const command = [process.execPath, join(copy, 'scripts/simulate.ts'), ...args];
    const run = Bun.spawn(command, { stdio: ['ignore', 'pipe', 'inherit'] });
    const said = await new Response(run.stdout).text();
    await run.exited;
    return said.split('\n').find((line) => line.startsWith('seed '));
  } finally {
    for (const { file } of edits) cpSync(join(ROOT, file), join(copy, file));
  }
}
