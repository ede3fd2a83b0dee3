import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import type { BunPlugin } from 'bun';
import { parseSync, Visitor } from 'oxc-parser';
import type { PanelFile } from '../src/http/panel-files/panel-manifest.ts';
import { readRuleTexts, readTexts } from './check-texts.ts';
import { hashInputs, isFresh, root, writeWhole } from './hash-inputs.ts';

const output = 'build/panel';
const manifestPath = `${output}/manifest.gen.ts`;
const bytesTypePath = `${output}/bytes.gen.d.ts`;
const stampPath = `${output}/built-from`;
const inputs = [
  'src/panel',
  'src/kernel/reasons',
  'src/kernel/user-agents.ts',
  'contracts',
  'package-lock.json',
  'tsconfig.json',
  'scripts/build-panel.ts',
  'scripts/check-texts.ts',
];

type Asset = { name: string; content: Uint8Array<ArrayBuffer>; contentType: string };
type Entry = Omit<PanelFile, 'file' | 'brotli'> & { stored: { file: string } | { brotli: string } };

const contentTypes: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml; charset=utf-8',
  woff2: 'font/woff2',
};

/**
 * Bundles `src/panel` for browsers into `build/panel` when its inputs have changed: hashed names
 * under `/assets/`, code splitting, brotli instead of each file that it makes smaller, and the
 * manifest that embeds them in the executable. Says whether it built. Throws when the
 * bundler refuses.
 */
export async function buildPanel(): Promise<boolean> {
  const hash = hashInputs(inputs);
  if (isFresh(stampPath, hash, [manifestPath])) return false;
  const { html, assets } = await bundle();
  const folder = `${output}/${hash.slice(0, 16)}`;
  mkdirSync(join(root, folder), { recursive: true });
  const entries = assets.map((asset) => storeAsset(folder, asset));
  writeManifest(html, entries);
  writeWhole(stampPath, hash);
  const kept = [manifestPath, bytesTypePath, stampPath, folder];
  for (const name of readdirSync(join(root, output))) {
    if (!kept.includes(`${output}/${name}`)) rmSync(join(root, output, name), { recursive: true, force: true });
  }
  return true;
}

/**
 * Without a built panel the server still has a manifest to import: one with no files. One of former
 * sources may have another shape.
 */
export function ensurePanelManifest(): void {
  if (isFresh(stampPath, hashInputs(inputs), [manifestPath])) return;
  mkdirSync(join(root, output), { recursive: true });
  writeManifest('', []);
}

/** The bundler would take these for files of its own. */
const INSTALL_LINKS =
  '<link rel="manifest" href="/manifest.webmanifest"><link rel="apple-touch-icon" href="/icons/icon-192.png">';

async function bundle(): Promise<{ html: string; assets: Asset[] }> {
  const result = await Bun.build({
    entrypoints: [join(root, 'src/panel/index.html')],
    root: join(root, 'src/panel'),
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    sourcemap: 'none',
    publicPath: '/',
    naming: { entry: '[name].[ext]', chunk: 'assets/[name]-[hash].[ext]', asset: 'assets/[name]-[hash].[ext]' },
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [languageFiles, pageGroups],
    throw: true,
  });
  await expectStyles(result.outputs.filter(({ path }) => path.endsWith('.js')));
  let html = '';
  const assets: Asset[] = [];
  for (const artifact of result.outputs) {
    const name = artifact.path.replace(/^\.?\//, '');
    if (name.endsWith('.html')) html = (await artifact.text()).replace('</head>', `${INSTALL_LINKS}</head>`);
    else assets.push({ name, content: new Uint8Array(await artifact.arrayBuffer()), contentType: typeFor(name) });
  }
  // Under names that stay: systems that installed the panel ask for them again.
  for (const name of readdirSync(join(root, 'src/panel/icons'))) {
    const content = new Uint8Array(readFileSync(join(root, 'src/panel/icons', name)));
    assets.push({ name: `icons/${name}`, content, contentType: typeFor(name) });
  }
  return { html, assets: assets.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/**
 * The panel imports the styles of the components that it uses, one by one: all of them are half as
 * large again. Throws where those of one are missing, which its classes in the scripts show.
 */
async function expectStyles(scripts: readonly Blob[]): Promise<void> {
  const code = (await Promise.all(scripts.map((script) => script.text()))).join('\n');
  const base = readFileSync(join(root, 'src/panel/theme/base.css'), 'utf8');
  const folder = '@mantine/core/styles';
  const missing = readdirSync(join(root, 'node_modules', folder))
    .filter((name) => name.endsWith('.css') && !name.endsWith('.layer.css') && !base.includes(`"${folder}/${name}"`))
    .filter((name) => {
      const styles = readFileSync(join(root, 'node_modules', folder, name), 'utf8');
      return (styles.match(/\bm_[0-9a-f]+/g) ?? []).some((className) => code.includes(className));
    });
  if (missing.length > 0) throw new Error(`src/panel/theme/base.css lacks ${missing.join(', ')} of ${folder}`);
}

/**
 * The chunk of a text, by the first part of its key: `first` is loaded at once, `rest` after
 * sign-in, the others with the pages that alone show them.
 */
const textAreas = {
  first:
    'account app board challenge code connection ended error forgot language legal missing oauth passkey reset setup signIn signUp telegram wait wechat',
  administration: 'channels plugins prices replay sheet system users',
  settings: 'audit market option providers settings',
  account: 'notifications profile security',
  playground: 'play',
  reference: 'reference',
} as const;
const partByArea = new Map(
  Object.entries(textAreas).flatMap(([part, areas]) => areas.split(' ').map((area) => [area, part] as const)),
);
export const findTextPart = (key: string): string => partByArea.get(key.split('.', 1)[0] ?? '') ?? 'rest';

/**
 * Every JSON file of the folder is a language, with its name at hand before its chunks are loaded:
 * one a part of its texts, and one of the rules for plugins, which few pages show. A text that a
 * language does not have yet is the English one.
 */
const languageFiles: BunPlugin = {
  name: 'languages',
  setup(build) {
    const folder = join(root, 'src/panel/i18n');
    const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, string>;
    build.onResolve({ filter: /^panel:/ }, ({ path }) => ({ path: path.slice('panel:'.length), namespace: 'panel' }));
    build.onLoad({ filter: /^languages$/, namespace: 'panel' }, () => {
      const entries = readdirSync(folder)
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((file) => {
          const texts = read(file);
          const [name, tag] = [JSON.stringify(texts['language.name']), JSON.stringify(texts['language.tag'])];
          const load = (part: string) => `() => import(${JSON.stringify(`panel:${part}/${file}`)})`;
          const parts = [...Object.keys(textAreas), 'rest'].map((part) => `${part}: ${load(part)}`).join(', ');
          return `${JSON.stringify(file.slice(0, -5))}: { name: ${name}, tag: ${tag}, load: { ${parts} }, loadRules: ${load('rules')} }`;
        });
      return { contents: `export const languages = { ${entries.join(', ')} };`, loader: 'js' };
    });
    build.onLoad(
      { filter: /^(first|rest|administration|settings|account|playground|reference)\/.*\.json$/, namespace: 'panel' },
      ({ path }) => {
        const [part, file] = path.split('/') as [string, string];
        const texts = Object.entries(readTexts(file.slice(0, -'.json'.length))).filter(
          ([key]) => findTextPart(key) === part,
        );
        return { contents: `export default ${JSON.stringify(Object.fromEntries(texts))};`, loader: 'js' };
      },
    );
    build.onLoad({ filter: /^rules\/.*\.json$/, namespace: 'panel' }, ({ path }) => {
      const texts = readRuleTexts(path.slice('rules/'.length, -'.json'.length));
      return { contents: `export default ${JSON.stringify(texts)};`, loader: 'js' };
    });
  },
};

/**
 * The pages of one group in `routes/pages.ts` are one chunk: each import of a page there becomes
 * one of a module that exports all pages of its group.
 */
const pageGroups: BunPlugin = {
  name: 'page groups',
  setup(build) {
    const list = join(root, 'src/panel/routes/pages.ts');
    const groups = readPageGroups(list);
    build.onResolve({ filter: /^\.\.\/pages\// }, ({ path, importer }) => {
      if (importer !== list) return undefined;
      const file = join(dirname(list), path);
      const group = [...groups].find(([, files]) => files.has(file))?.[0];
      if (group === undefined) throw new Error(`${path} is in no group of ${list}`);
      return { path: `pages/${group}`, namespace: 'panel' };
    });
    build.onLoad({ filter: /^pages\//, namespace: 'panel' }, ({ path }) => {
      const files = [...(groups.get(path.slice('pages/'.length)) ?? [])];
      return { contents: files.map((file) => `export * from ${JSON.stringify(file)};\n`).join(''), loader: 'js' };
    });
  },
};

/** The files of the pages of each group. */
function readPageGroups(list: string): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = new Map<string, Set<string>>();
  let files = new Set<string>();
  new Visitor({
    VariableDeclarator({ id }) {
      if (id.type !== 'Identifier') return;
      files = new Set();
      groups.set(id.name, files);
    },
    ImportExpression({ source }) {
      if (source.type === 'Literal') files.add(join(dirname(list), String(source.value)));
    },
  }).visit(parseSync(list, readFileSync(list, 'utf8')).program);
  return groups;
}

function typeFor(name: string): string {
  const type = contentTypes[name.split('.').pop() ?? ''];
  if (type === undefined) throw new Error(`No content type known for the panel file ${name}`);
  return type;
}

/**
 * Files are stored with a neutral ending, so that neither the compiler nor the bundler takes them
 * for source.
 */
function storeAsset(folder: string, { name, content, contentType }: Asset): Entry {
  const flat = name.replaceAll('/', '-');
  const store = (ending: string, bytes: Uint8Array): string => {
    const path = `${folder}/${flat}.${ending}`;
    writeFileSync(join(root, path), bytes);
    return path;
  };
  const brotli = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  const isSmaller = brotli.byteLength < content.byteLength * 0.95;
  const stored = isSmaller ? { brotli: store('br.bin', brotli) } : { file: store('bin', content) };
  const file = { path: `/${name}`, contentType, stored };
  if (name.startsWith('assets/')) return file;
  return { ...file, etag: `"${createHash('sha256').update(content).digest('hex').slice(0, 32)}"` };
}

function writeManifest(html: string, entries: readonly Entry[]): void {
  const type = "declare module '*.bin' {\n  const path: string;\n  export default path;\n}\n";
  writeWhole(bytesTypePath, `// Generated by scripts/build-panel.ts. Not for editing.\n${type}`);
  writeWhole(manifestPath, renderManifest(html, entries));
}

function renderManifest(html: string, entries: readonly Entry[]): string {
  const imports: string[] = [];
  const embed = (path: string): string => {
    const name = `file${imports.length}`;
    imports.push(`import ${name} from './${path.slice(output.length + 1)}' with { type: 'file' };`);
    return name;
  };
  const files = entries.map(({ path, contentType, etag, stored }) => {
    const fields = [
      `path: ${JSON.stringify(path)}`,
      ...Object.entries(stored).map(([name, path]) => `${name}: ${embed(path)}`),
      `contentType: ${JSON.stringify(contentType)}`,
      ...(etag === undefined ? [] : [`etag: ${JSON.stringify(etag)}`]),
    ];
    return `    { ${fields.join(', ')} },`;
  });
  return [
    '// Generated by scripts/build-panel.ts from src/panel. Not for editing.',
    '/// <reference path="./bytes.gen.d.ts" />',
    "import type { PanelManifest } from '../../src/http/panel-files/panel-manifest.ts';",
    ...imports,
    '',
    'export const panelManifest: PanelManifest = {',
    '  files: [',
    ...files,
    '  ],',
    `  indexHtml: ${JSON.stringify(html)},`,
    '};',
    '',
  ].join('\n');
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  if (args.includes('--manifest-only')) ensurePanelManifest();
  else process.stdout.write((await buildPanel()) ? 'Panel built.\n' : 'Panel is up to date.\n');
}
