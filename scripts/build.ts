import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buildFactory } from './build-factory.ts';
import { buildPanel } from './build-panel.ts';
import { hashInputs, isFresh, root } from './hash-inputs.ts';

const inputs = [
  'src',
  'contracts',
  'migrations',
  'build/factory/manifest.gen.ts',
  'build/panel',
  'package.json',
  'package-lock.json',
  'scripts/build.ts',
];

/** Bun's names of the platforms that the executable can be built for. */
const targets = [
  'bun-linux-x64',
  'bun-linux-x64-baseline',
  'bun-linux-x64-musl',
  'bun-linux-arm64',
  'bun-linux-arm64-musl',
  'bun-darwin-x64',
  'bun-darwin-arm64',
  'bun-windows-x64',
];

/**
 * Builds the panel and the factory plugins, then the executable, each only when its inputs have
 * changed. Without a target: `dist/taskgate` for this machine; with one:
 * `dist/taskgate-<platform>`. Throws when a step fails.
 */
export async function buildExecutable(target?: string): Promise<{ path: string; built: boolean }> {
  await buildPanel();
  await buildFactory();
  const suffix = (target ?? '').replace(/^bun/, '');
  const isWindows = target === undefined ? process.platform === 'win32' : target.includes('windows');
  const path = `dist/taskgate${suffix}${isWindows ? '.exe' : ''}`;
  const stamp = `build/executable${suffix}.built-from`;
  const hash = hashInputs(inputs);
  if (isFresh(stamp, hash, [path])) return { path, built: false };
  await compile(path, target);
  await Bun.write(join(root, stamp), hash);
  return { path, built: true };
}

async function compile(path: string, target: string | undefined): Promise<void> {
  mkdirSync(join(root, 'dist'), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp${path.endsWith('.exe') ? '.exe' : ''}`;
  // `--format esm` lets bytecode and top-level await live together. Split, a process loads the code
  // that it runs and no more: it starts in 14 instead of 30 ms, and a sandbox process does not hold
  // the gateway's code. The two autoload switches keep the executable from reading a `.env` or
  // `bunfig.toml` that lies in the folder it is started in.
  const child = Bun.spawn(
    [
      process.execPath,
      'build',
      '--compile',
      '--minify',
      '--bytecode',
      '--splitting',
      '--format',
      'esm',
      '--no-compile-autoload-dotenv',
      '--no-compile-autoload-bunfig',
      ...(target === undefined ? [] : [`--target=${target}`]),
      '--outfile',
      temporary,
      // The program first, then what its worker threads run.
      'src/main.ts',
      'src/plugins/worker/run-tasks.ts',
    ],
    { cwd: root, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0 || !existsSync(join(root, temporary))) throw new Error(`bun build failed:\n${out}${error}`);
  // In one step, so that a running executable is replaced and never half-written.
  renameSync(join(root, temporary), join(root, path));
}

async function main(args: string[]): Promise<number> {
  const wanted = args.filter((arg) => arg.startsWith('--target=')).map((arg) => arg.slice('--target='.length));
  const unknown = [
    ...args.filter((arg) => !arg.startsWith('--target=')),
    ...wanted.filter((name) => !targets.includes(name)),
  ];
  if (unknown.length > 0) {
    console.error(`Not understood: ${unknown.join(' ')}\nUsage: npm run build -- [--target=${targets.join('|')}]…`);
    return 2;
  }
  for (const target of wanted.length === 0 ? [undefined] : wanted) {
    const started = performance.now();
    const { path, built } = await buildExecutable(target);
    const size = (statSync(join(root, path)).size / 1e6).toFixed(1);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(built ? `${path}: ${size} MB, built in ${seconds} s` : `${path}: up to date`);
  }
  return 0;
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
