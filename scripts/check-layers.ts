import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { findCycles } from './find-cycles.ts';
import { listFiles, root } from './hash-inputs.ts';
import { readImports } from './read-imports.ts';

/** What all rooms from `tasks` upwards may import. */
const engine = ['plugins', 'channels', 'billing', 'notifications', 'files', 'store/ports', 'upstream', 'kernel'];

/**
 * Which room may import which; whatever is not listed is an error. `main` is `src/main.ts`,
 * `store/ports` stands apart from the rest of `store`, `contracts` and `migrations` are the folders
 * beside `src`, `panel-manifest` and `factory-manifest` are the generated ones.
 */
const allowed: Record<string, readonly string[]> = {
  kernel: [],
  'store/ports': ['kernel'],
  store: ['store/ports', 'kernel', 'migrations'],
  sandbox: ['kernel'],
  upstream: ['kernel'],
  telemetry: ['upstream', 'kernel'],
  billing: ['store/ports', 'kernel'],
  channels: ['store/ports', 'upstream', 'kernel'],
  auth: ['store/ports', 'upstream', 'kernel'],
  plugins: ['store/ports', 'sandbox', 'upstream', 'contracts', 'kernel'],
  notifications: ['store/ports', 'upstream', 'kernel'],
  files: ['store/ports', 'upstream', 'kernel'],
  vendors: ['plugins', 'channels', 'billing', 'files', 'store/ports', 'upstream', 'kernel'],
  settings: ['auth', 'store/ports', 'upstream', 'kernel'],
  tasks: ['vendors', ...engine],
  relay: ['tasks', 'vendors', ...engine],
  results: ['tasks', 'vendors', ...engine],
  reports: ['tasks', 'vendors', ...engine],
  surfaces: ['relay', 'results', 'reports', 'tasks', 'vendors', ...engine],
  importing: ['settings', 'vendors', 'tasks', 'auth', 'store', ...engine],
  operations: ['relay', 'results', 'reports', 'tasks', 'vendors', 'auth', 'settings', 'store', 'sandbox', ...engine],
  panel: ['contracts', 'http', 'kernel'],
  http: [
    ...['auth', 'settings', 'plugins', 'channels', 'billing', 'notifications', 'files', 'vendors', 'tasks', 'relay'],
    ...['results', 'reports', 'surfaces', 'operations', 'contracts', 'kernel', 'panel-manifest'],
  ],
  app: [
    ...['settings', 'http', 'auth', 'vendors', 'tasks', 'relay', 'results', 'reports', 'surfaces', 'importing'],
    ...['operations'],
    ...[...engine, 'telemetry', 'store', 'sandbox', 'contracts', 'migrations', 'panel-manifest', 'factory-manifest'],
  ],
  main: ['app', 'sandbox'],
  contracts: ['contracts'],
};

/** Rooms that may import only types of another. */
const typesOnly: Record<string, string> = { panel: 'http', settings: 'auth' };

/**
 * The folders of each room, from the lowest to the highest: a folder imports those before it, never
 * those after it. '.' stands for the files directly in the room's folder, except the room's
 * entrances: `index.ts` and its composition `ROOM.ts` may import every folder. A room that has
 * folders has an order; so has a folder of a room that is named by its path.
 */
const folderOrder: FolderOrder = {
  kernel: ['reasons', '.'],
  channels: ['.', 'capacity'],
  auth: [
    ...['.', 'limits', 'tokens', 'credentials', 'mail', 'accounts', 'sessions', 'two-factor', 'registration'],
    ...['passwords', 'proofs', 'passkeys', 'oauth', 'messengers', 'api-keys', 'own-account'],
    ...['administration', 'service'],
  ],
  panel: ['theme', 'i18n', 'api', 'session', 'ui', 'pages', 'shell', 'routes', '.'],
  'panel/pages': [
    ...['accounts', 'oauth', 'sign-in', 'tasks', 'queue', 'playground', 'keys', 'models', 'reference', 'channels'],
    ...['prices', 'plugins', 'marketplace', 'settings', 'audit', 'cases', 'notifications', 'usage', 'home', 'users'],
    ...['system', 'profile', 'security', 'setup', '.'],
  ],
  'panel/ui': ['display', 'form', 'security-proof', 'page', 'chart', 'table'],
  plugins: [
    ...['.', 'manifest', 'source', 'icons', 'signing', 'market-index', 'lint', 'worker', 'registry', 'hooks'],
    ...['author', 'service', 'marketplace'],
  ],
  sandbox: ['.', 'child', 'pool'],
  settings: ['catalogue', '.'],
  http: ['responses', 'bodies', 'panel-files', 'pipeline', 'v1', 'panel-api', 'openapi', 'operator', '.'],
  'http/panel-api': ['.', 'sign-in', 'operation', 'accounts', 'tasks', 'gateway', 'export'],
  operations: [
    ...['.', 'secrets', 'nodes', 'storage', 'start', 'watches', 'retention', 'backup', 'certificates'],
    ...['system-service', 'upgrade', 'doctor', 'overview'],
  ],
  telemetry: ['logging', 'metrics', 'tracing'],
  upstream: ['.', 'mail'],
  relay: ['.', 'bodies', 'answers', 'sound', 'usage', 'objects', 'requests'],
  tasks: ['.', 'state', 'waiting', 'observation', 'polling', 'submission', 'dispatch', 'idempotency'],
  vendors: ['.', 'answer', 'request', 'content', 'trial'],
  reports: ['.', 'cases'],
  results: ['.', 'artifacts', 'links', 'previews', 'copies', 'serving'],
  surfaces: ['.', 'videos', 'images', 'tasks', 'responses', 'mcp', 'batches'],
  app: ['.', 'config', 'demo-vendor', 'desktop', 'telemetry', 'composition', 'cli'],
  store: [
    ...['drivers', 'redis', 'schema', 'files', 'postgres', 'sqlite', 'migrate', 'repositories', 'sources'],
    ...['snapshot', 'salvage', '.'],
  ],
};
type FolderOrder = Readonly<Record<string, readonly string[]>>;

/** Files that may be imported although they are not their room's `index.ts`. */
const openFiles = ['src/sandbox/child/run-child.ts', 'src/store/snapshot/postgres-snapshot.ts'];
/** What the panel may import of the kernel: files that import nothing, so they run in a browser. */
const browserFiles = ['json', 'quota', 'texts', 'user-agents'].map((name) => `src/kernel/${name}.ts`);

/** Means of the platform and of packages that belong to certain places only. */
const reserved: readonly { what: string; pattern: RegExp; where: RegExp }[] = [
  { what: 'the current time', pattern: /\bDate\.now\(|\bnew Date\(\s*\)/, where: /^src\/(kernel|panel)\// },
  { what: 'Math.random', pattern: /\bMath\.random\(/, where: /^src\/kernel\// },
  {
    what: 'fetch',
    pattern: /(?<![\w.$])(?:globalThis\.|window\.)?fetch\((?!.*\{$)/,
    where: /^src\/(upstream|panel)\//,
  },
  { what: 'the environment', pattern: /\bprocess\.env\b|\bBun\.env\b/, where: /^src\/app\/config\/config\.ts$/ },
  { what: 'console', pattern: /\bconsole\.(log|error|warn|info|debug)\(/, where: /^src\/(main\.ts$|app\/cli\/)/ },
];
const reservedPackages: readonly { name: RegExp; where: RegExp }[] = [
  { name: /^elysia$|^@elysiajs\/openapi$/, where: /^src\/http\// },
  { name: /^drizzle-orm|^bun:sqlite$|^ioredis$/, where: /^src\/store\// },
  { name: /^quickjs-emscripten|^@jitl\//, where: /^src\/sandbox\// },
  { name: /^react|^@mantine\//, where: /^src\/panel\// },
];

/**
 * Every breach of the import table and the reserved means below `base`, and every import cycle, as
 * `file:line: what`.
 */
export function checkLayers(base: string, order: FolderOrder = folderOrder): string[] {
  const files = listFiles('src', base)
    .concat(listFiles('contracts', base))
    .filter((file) => /\.tsx?$/.test(file));
  const sources = new Map(files.map((file) => [file.replaceAll('\\', '/'), readFileSync(join(base, file), 'utf8')]));
  const breaches = [...sources].flatMap(([file, source]) => [
    ...checkImports(file, source, order),
    ...checkReserved(file, source),
  ]);
  const cycles = findCycles(sources).map((members) => `${members[0]}:1: import cycle: ${members.join(' -> ')}`);
  return [...breaches, ...cycles];
}

function checkImports(file: string, source: string, order: FolderOrder): string[] {
  const from = roomFor(file);
  if (from === null) return [`${file}:1: lies in no room`];
  return readImports(source).flatMap(({ specifier, line, typeOnly }) => {
    const complain = (what: string): string[] => [`${file}:${line}: ${what}`];
    if (browserFiles.includes(file)) return complain('the panel imports this file, so it may import nothing');
    if (!specifier.startsWith('.')) {
      const rule = reservedPackages.find(({ name }) => name.test(specifier));
      return rule && !rule.where.test(file) ? complain(`${specifier} does not belong into ${from}`) : [];
    }
    if (/\/types\.ts$/.test(file) && !typeOnly) return complain(`types.ts may import only types (${specifier})`);
    const target = normalize(join(dirname(file), specifier)).replaceAll('\\', '/');
    const to = roomFor(target);
    if (to === from) return findUpwardImports(order, { room: from, file, target }).flatMap(complain);
    if (to === null) {
      return target === 'package.json' ? [] : complain(`${specifier} leads out of the rooms`);
    }
    if (!allowed[from]?.includes(to)) return complain(`${from} may not import ${to} (${specifier})`);
    if (typesOnly[from] === to && !typeOnly) return complain(`${from} may import only types of ${to}`);
    if (from === 'panel' && to === 'kernel') {
      return browserFiles.includes(target)
        ? []
        : complain(`of kernel the panel may import ${browserFiles.join(', ')} only`);
    }
    if (!isEntrance(from, to, target)) return complain(`${to} is entered through its index.ts only (${specifier})`);
    return [];
  });
}

function findUpwardImports(
  order: FolderOrder,
  { room, file, target }: { room: string; file: string; target: string },
): string[] {
  const entrances = [`src/${room}/index.ts`, `src/${room}/${room}.ts`];
  if (entrances.includes(file)) return [];
  if (order[room] && entrances.includes(target)) return [`${file} may not import ${target} above it`];
  const inside = (folder: string) => [file, target].every((path) => path.startsWith(`src/${folder}/`));
  const ordered = Object.keys(order).filter((folder) => folder.startsWith(`${room}/`) && inside(folder));
  return [room, ...ordered].flatMap((folder) => compareFolders(order[folder] ?? [], { folder, file, target }));
}

function compareFolders(
  order: readonly string[],
  { folder, file, target }: { folder: string; file: string; target: string },
): string[] {
  const [from, to] = [folderBelow(folder, file), folderBelow(folder, target)];
  if (from === to) return [];
  const unknown = [from, to].filter((each) => !order.includes(each));
  if (unknown.length > 0) return unknown.map((each) => `${folder}/${each} has no place in folderOrder`);
  return order.indexOf(from) < order.indexOf(to) ? [`${folder}/${from} may not import ${folder}/${to} above it`] : [];
}

function folderBelow(folder: string, path: string): string {
  const below = path.slice(`src/${folder}/`.length).split('/');
  return below.length > 1 ? (below[0] ?? '.') : '.';
}

function isEntrance(from: string, to: string, target: string): boolean {
  if (from === 'app' || from === 'main') return from === 'app' || to === 'app' || openFiles.includes(target);
  if (['store/ports', 'contracts', 'migrations', 'panel-manifest'].includes(to)) return true;
  return target === `src/${to}/index.ts` || openFiles.includes(target);
}

function roomFor(path: string): string | null {
  if (/^src\/main\.tsx?$/.test(path)) return 'main';
  if (path.startsWith('src/store/ports/')) return 'store/ports';
  if (path.startsWith('build/panel/')) return 'panel-manifest';
  if (path.startsWith('build/factory/')) return 'factory-manifest';
  if (path.startsWith('contracts/') || path.startsWith('migrations/')) return path.split('/')[0] ?? null;
  const room = /^src\/([^/]+)\//.exec(path)?.[1];
  return room !== undefined && room in allowed ? room : null;
}

function checkReserved(file: string, source: string): string[] {
  return source.split('\n').flatMap((text, index) => {
    if (/^\s*(\*|\/\/|\/\*)/.test(text)) return [];
    return reserved
      .filter(({ pattern, where }) => pattern.test(text) && !where.test(file))
      .map(({ what }) => `${file}:${index + 1}: ${what} is not to be used here`);
  });
}

if (import.meta.main) {
  const breaches = checkLayers(root);
  for (const breach of breaches) process.stderr.write(`${breach}\n`);
  process.exitCode = breaches.length > 0 ? 1 : 0;
}
