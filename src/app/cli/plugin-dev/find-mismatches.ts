import { existsSync, readFileSync } from 'node:fs';
import type { DevelopmentView } from '../../../http/index.ts';
import { parseJson, pluralize } from '../../../kernel/index.ts';
import { runFixture } from '../../../plugins/index.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { quoteForShell } from '../command.ts';
import { fixtureBeside } from '../read-plugin.ts';

type Mismatches = NonNullable<DevelopmentView['mismatches']>;

/**
 * The cases of a plugin's fixture whose results differ from what a source returns, with commands
 * for the author; null if all fit, or if there is no fixture that could be run.
 */
export async function findMismatches(
  sandbox: Sandbox,
  { file, source, fixture }: { file: string; source: string; fixture: string },
): Promise<Mismatches | null> {
  if (!existsSync(fixture)) return null;
  const report = await runFixture(sandbox, { source, fixture: parseJson(readFileSync(fixture, 'utf8')) });
  const cases = report.cases.filter(({ ok }) => !ok).map(({ name }) => name);
  if (cases.length === 0) return null;
  const named = fixture === fixtureBeside(file) ? '' : ` --fixture ${quoteForShell(fixture)}`;
  const commands = ['test', 'record'].map((command) => `taskgate plugin ${command} ${quoteForShell(file)}${named}`);
  return { fixture, cases, commands };
}

/** For the terminal: what no longer fits, how to see the difference, and how to record it anew. */
export function describeMismatches({ fixture, cases, commands }: Mismatches): string {
  const names = cases.slice(0, 3).map((name) => JSON.stringify(name));
  const more = cases.length > names.length ? ', …' : '';
  const [see = '', record = ''] = commands;
  return [
    `note: ${fixture} has ${pluralize(cases.length, 'case that no longer fits', 'cases that no longer fit')}: ${names.join(', ')}${more}`,
    `  to see the difference  ${see}`,
    `  to record it anew      ${record}`,
    '',
  ].join('\n');
}
