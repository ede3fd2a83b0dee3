import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildFactory } from './build-factory.ts';
import { buildPanel } from './build-panel.ts';
import { buildTargets, fetchRuntime } from './fetch-runtime.ts';
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
  'scripts/fetch-runtime.ts',
  'build/bytecode.order',
];

const orderPath = 'build/bytecode.order';

/** How many times as often a function must run before it is compiled, until a start is done. */
const START_JIT_POLICY = 8;

type BuildOptions = { target?: string | undefined; forSpeed?: boolean };

/**
 * Builds the panel and the factory plugins, then the executable, each only when its inputs have
 * changed. Without a target: `dist/taskgate` for this machine; with one:
 * `dist/taskgate-<platform>`. `forSpeed`: as a release is built, in about twice the time. Throws
 * when a step fails.
 */
export async function buildExecutable({ target, forSpeed = false }: BuildOptions = {}): Promise<{
  path: string;
  built: boolean;
}> {
  await buildPanel();
  await buildFactory();
  if (forSpeed && !existsSync(join(root, orderPath))) await recordOrder();
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

/**
 * Builds one platform's executable for a release, as `outfile`: the same commit gives the same
 * bytes. So it takes no record of a start, which differs a little each time.
 */
export async function buildForRelease({ target, outfile, publicKey }: ReleaseBuild): Promise<void> {
  await buildPanel();
  await buildFactory();
  await bundle({ outfile, order: null, target, publicKey });
}

/** `publicKey`: who must have signed what the executable upgrades to; empty for nobody. */
type ReleaseBuild = { target: string; outfile: string; publicKey: string };

async function compile(path: string, target: string | undefined): Promise<void> {
  mkdirSync(join(root, 'dist'), { recursive: true });
  const order = existsSync(join(root, orderPath)) ? join(root, orderPath) : null;
  // The executable holds its own name: a folder, and not the name, keeps two builds apart.
  const folder = mkdtempSync(join(root, 'dist/.build-'));
  try {
    const outfile = join(folder, path.endsWith('.exe') ? 'taskgate.exe' : 'taskgate');
    await bundle({ outfile, order, ...(target === undefined ? {} : { target }) });
    // In one step, so that a running executable is replaced and never half-written.
    renameSync(outfile, join(root, path));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Records which functions a start uses. Executables then keep these together at the front of their
 * bytecode: a start reads fewer pages. A record of an earlier state of the sources still helps.
 */
async function recordOrder(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'taskgate-order-'));
  const outfile = join(folder, 'taskgate');
  try {
    await bundle({ outfile, order: null });
    const child = Bun.spawn([outfile, 'serve', '--json', '--port', '0', '--data-dir', join(folder, 'data')], {
      cwd: folder,
      env: { BUN_BYTECODE_ORDER_OUT: join(folder, 'order'), LOG_LEVEL: 'error' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { value } = await child.stdout.getReader().read();
    const { address } = JSON.parse(new TextDecoder().decode(value)) as { address: string };
    for (const path of ['/api/status', '/livez', '/']) await fetch(`${address}${path}`).then((each) => each.text());
    child.kill('SIGTERM');
    await child.exited;
    copyFileSync(join(folder, 'order'), join(root, orderPath));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The ACME library's requests go through `upstream`, so its HTTP client needs no way of its own
 * into the network: what it brings for Node is a list of all media types and more.
 */
const axiosWithoutNode: Bun.BunPlugin = {
  name: 'axios without its ways into the network',
  setup(build) {
    build.onResolve({ filter: /^axios$/ }, () => ({ path: join(root, 'node_modules/axios/dist/browser/axios.cjs') }));
  },
};

/**
 * The gateway's metrics are its own: the library's figures of the process bring all of
 * OpenTelemetry's interface with them, which half of what the library loads is.
 */
const metricsWithoutDefaults: Bun.BunPlugin = {
  name: 'prom-client without its default metrics',
  setup(build) {
    build.onLoad({ filter: /\/prom-client\/lib\/(?:defaultMetrics|pushgateway|cluster)\.js$/ }, () => ({
      contents: 'module.exports = {};',
      loader: 'js',
    }));
  },
};

type Bundle = { outfile: string; order: string | null; target?: string; publicKey?: string };

async function bundle({ outfile, order, target, publicKey = '' }: Bundle): Promise<void> {
  const runtime = target === undefined ? {} : { executablePath: await fetchRuntime(target) };
  await Bun.build({
    // The program first, then what its worker threads run.
    entrypoints: ['main.ts', 'plugins/worker/worker-entry.ts', 'store/sqlite/run-checkpoint.ts'].map((entry) =>
      join(root, 'src', entry),
    ),
    root: join(root, 'src'),
    // Split, a process loads the code that it runs and no more: it starts in half the time, and a
    // sandbox process does not hold the gateway's code.
    splitting: true,
    // Lets bytecode and top-level await live together.
    format: 'esm',
    minify: true,
    bytecode: true,
    // The framework imports it for a kind of upload that no route has.
    external: ['file-type'],
    plugins: [axiosWithoutNode, metricsWithoutDefaults],
    compile: {
      outfile,
      // Code that a start runs once is not worth compiling. `serve` and sandbox processes end this
      // when they are up.
      jitPolicy: START_JIT_POLICY,
      bytecodeOrder: order,
      // The executable must not read what lies in the folder that it is started in.
      autoloadDotenv: false,
      autoloadBunfig: false,
      ...(target === undefined ? {} : { target: target as Bun.Build.CompileTarget }),
      ...runtime,
    },
    define: {
      // Which release `taskgate upgrade` takes.
      BUILD_TARGET: JSON.stringify(target?.replace(/^bun-/, '') ?? thisPlatform()),
      RELEASE_KEY: JSON.stringify(publicKey),
      // Libraries that ask for their folder get none: it would be that of this build, and two
      // builds would differ.
      __dirname: '"/"',
      __filename: '"/index.js"',
    },
    throw: true,
  });
  if (!existsSync(outfile)) throw new Error(`bun build wrote no ${outfile}`);
}

/** This machine in Bun's words; of a system with musl, the runtime's own libraries say so. */
function thisPlatform(): string {
  const isMusl = process.platform === 'linux' && readFileSync(process.execPath).subarray(0, 4096).includes('ld-musl');
  return `${process.platform.replace('win32', 'windows')}-${process.arch}${isMusl ? '-musl' : ''}`;
}

async function main(args: string[]): Promise<number> {
  const wanted = args.filter((arg) => arg.startsWith('--target=')).map((arg) => arg.slice('--target='.length));
  const unknown = [
    ...args.filter((arg) => !arg.startsWith('--target=')),
    ...wanted.filter((name) => !buildTargets.includes(name)),
  ];
  if (unknown.length > 0) {
    console.error(
      `Not understood: ${unknown.join(' ')}\nUsage: npm run build -- [--target=${buildTargets.join('|')}]…`,
    );
    return 2;
  }
  for (const target of wanted.length === 0 ? [undefined] : wanted) {
    const started = performance.now();
    const { path, built } = await buildExecutable({ target, forSpeed: true });
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
