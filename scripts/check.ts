import { join } from 'node:path';
import { buildFactory } from './build-factory.ts';
import { ensurePanelManifest } from './build-panel.ts';
import { checkDependencies } from './check-dependencies.ts';
import { checkLayers } from './check-layers.ts';
import { checkParameters } from './check-parameters.ts';
import { checkSizes } from './check-sizes.ts';
import { checkWords } from './check-words.ts';
import { root } from './hash-inputs.ts';

type Check = { name: string; run(): Promise<string | null> };

/**
 * npm run check: factory plugins, types, format and lint, unused code, the import table, file
 * sizes, regular expressions, generated files. Runs them all, side by side, and prints the findings
 * of those that fail. A generator says with `--check` whether its output is current.
 */
async function main(): Promise<number> {
  ensurePanelManifest();
  const binary = (name: string): string => join(root, 'node_modules', '.bin', name);
  const generators = [
    'src/app/config/print-config-docs.ts',
    'scripts/print-plugin-reference.ts',
    'scripts/print-new-database.ts',
    'scripts/print-panel-answers.ts',
    'scripts/print-reasons.ts',
  ];
  const checks: Check[] = [
    { name: 'types', run: () => runTool([binary('tsc'), '--noEmit', '-p', '.']) },
    { name: 'format and lint', run: () => runTool([binary('biome'), 'check', '--error-on-warnings', '.']) },
    { name: 'unused code', run: () => runTool([process.execPath, binary('knip-bun'), '--no-progress']) },
    { name: 'layers', run: async () => findings(checkLayers(root)) },
    { name: 'file sizes', run: async () => findings(checkSizes(root)) },
    { name: 'parameters', run: async () => findings(checkParameters(root)) },
    { name: 'dependencies', run: async () => findings(checkDependencies(root)) },
    { name: 'words', run: async () => findings(checkWords(root)) },
    {
      name: 'regular expressions',
      run: () => runTool([process.execPath, 'scripts/check-regular-expressions.ts']),
    },
    ...generators.map((file) => ({ name: file, run: () => runTool([process.execPath, file, '--check']) })),
  ];
  // First, since the others read what it writes.
  const isFactoryGood = await passes({ name: 'factory plugins', run: checkFactoryPlugins });
  const outcomes = await Promise.all(checks.map(passes));
  return isFactoryGood && outcomes.every(Boolean) ? 0 : 1;
}

async function passes({ name, run }: Check): Promise<boolean> {
  const started = performance.now();
  const complaint = await run();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `${complaint === null ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)${complaint === null ? '' : `\n${complaint}`}`,
  );
  return complaint === null;
}

async function checkFactoryPlugins(): Promise<string | null> {
  try {
    await buildFactory();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function runTool(command: string[]): Promise<string | null> {
  const child = Bun.spawn(command, { cwd: root, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return code === 0 ? null : `${out}${error}`.trimEnd();
}

function findings(list: readonly string[]): string | null {
  return list.length === 0 ? null : list.join('\n');
}

process.exitCode = await main();
