import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { constants, zstdCompressSync } from 'node:zlib';
import type { BunPlugin } from 'bun';
import { root } from './hash-inputs.ts';

/**
 * Libraries that a gateway loads when they are first used, if ever. Compiled code of them would
 * take three times the room of their text, so the executable holds the text, compressed.
 */
const libraries: readonly (readonly string[])[] = [
  ['@simplewebauthn/server', '@simplewebauthn/server/helpers'],
  ['openid-client'],
  ['nodemailer/lib/mail-composer', 'nodemailer/lib/smtp-connection'],
  ['@zxcvbn-ts/language-common'],
  ['ioredis'],
  ['rate-limiter-flexible'],
  ['pino-pretty'],
  ['age-encryption'],
  ['@fastify/busboy'],
  ['acorn'],
  ['ajv/dist/2020.js'],
  ['otpauth'],
  ['saxes'],
  ['@opentelemetry/api', '@opentelemetry/sdk-trace', '@opentelemetry/otlp-transformer', '@opentelemetry/resources'],
];

/**
 * Libraries that ask for their folder get none: it would be the one of this build, and two builds
 * would differ.
 */
export const withoutFolders = { __dirname: '"/"', __filename: '"/index.js"' };

/** Of prom-client, for marks that no metric of ours asks for. */
const unused = /^@opentelemetry\/api$/;
const unusedBy = /[\\/]prom-client[\\/]/;

/**
 * Modules that only hold texts and tables. Compiled, they would hold each text twice; the
 * executable holds them as compressed JSON.
 */
const textModules = [
  'contracts/v1.schema.json',
  'src/auth/mail/words/mail-words.ts',
  'src/http/development/development-script.ts',
  'src/http/openapi/docs-script.ts',
  'src/http/openapi/docs-style.ts',
  'src/plugins/author/contract-text.ts',
  'src/plugins/author/template-texts.ts',
];

const folder = 'build/late-libraries';
const factoryManifest = 'build/factory/manifest.gen.ts';
/** QuickJS as WebAssembly. */
const engine = /^@jitl\/quickjs-wasmfile-release-sync\/wasm$/;
const readEngine = (): Buffer => readFileSync(Bun.resolveSync('@jitl/quickjs-wasmfile-release-sync/wasm', root));
/** Imports each file once, however many modules it holds. */
const unpack = `
const loaded = new Map();
export function unpack(path) {
  if (!loaded.has(path)) loaded.set(path, load(path));
  return loaded.get(path);
}
async function load(path) {
  const text = Bun.zstdDecompressSync(await Bun.file(path).bytes());
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}`;

const isName = /^[A-Za-z_$][\w$]*$/;

/**
 * Bundles each of these libraries into one file and makes the executable import that file, which
 * it embeds as it is. The same for the factory plugins.
 */
export async function bundleLateLibraries(): Promise<BunPlugin> {
  const modules = (await Promise.all(libraries.map(bundleLibrary))).flat();
  const contentOf = new Map(modules.map(({ name, content }) => [name, content]));
  const { factoryPlugins } = (await import(join(root, factoryManifest))) as { factoryPlugins: unknown };
  const texts = await Promise.all(textModules.map(packModule));
  const packed = {
    factory: packJson('factory-plugins', JSON.stringify(factoryPlugins)),
    migrations: packMigrations(),
    answers: packJson('panel-answers', readText('src/http/openapi/panel-answers.gen.json')),
    // Its reader sees by the first bytes that it is compressed.
    engine: `export { default } from ${JSON.stringify(writePacked('engine.wasm', readEngine()))} with { type: 'file' };`,
  };
  return {
    name: 'late libraries',
    setup(build) {
      // First: who else imports it gets the library.
      build.onResolve({ filter: unused }, ({ importer }) =>
        unusedBy.test(importer) ? { path: 'unused', namespace: 'unused' } : undefined,
      );
      build.onResolve({ filter: /^[@a-z]/ }, ({ path }) =>
        contentOf.has(path) ? { path, namespace: 'late' } : undefined,
      );
      build.onResolve({ filter: /^late:unpack$/ }, ({ path }) => ({ path, namespace: 'unpack' }));
      const serve = (contents: string) => () => ({ contents, loader: 'js' as const, resolveDir: root });
      build.onResolve({ filter: /^packed:/ }, ({ path }) => ({
        path: path.slice('packed:'.length),
        namespace: 'packed',
      }));
      for (const [name, contents] of Object.entries(packed))
        build.onLoad({ filter: new RegExp(`^${name}$`), namespace: 'packed' }, serve(contents));
      build.onLoad(
        { filter: /build[\\/]factory[\\/]manifest\.gen\.ts$/ },
        serve("export { default as factoryPlugins } from 'packed:factory';"),
      );
      build.onLoad({ filter: /panel-answers\.gen\.json$/ }, serve("export { default } from 'packed:answers';"));
      build.onLoad({ filter: /migrations[\\/]\w+[\\/][\w-]+\.sql$/ }, ({ path }) => {
        const name = relative(root, path).replaceAll('\\', '/');
        return serve(`import texts from 'packed:migrations';\nexport default texts[${JSON.stringify(name)}];`)();
      });
      for (const { filter, contents } of texts) build.onLoad({ filter }, serve(contents));
      build.onResolve({ filter: engine }, () => ({ path: 'engine', namespace: 'packed' }));
      build.onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
      build.onLoad({ filter: /./, namespace: 'unpack' }, () => ({ contents: unpack, loader: 'js' }));
      build.onLoad({ filter: /./, namespace: 'late' }, ({ path }) => ({
        contents: contentOf.get(path) ?? '',
        loader: 'js',
        resolveDir: root,
      }));
    },
  };
}

/**
 * A module whose default export is what a JSON text says. Compiled code would hold the text twice,
 * or code that builds it. A start unpacks and parses the factory plugins in a millisecond.
 */
function packJson(name: string, text: string): string {
  return [
    "import { readFileSync } from 'node:fs';",
    `import path from ${JSON.stringify(writePacked(`${name}.json`, text))} with { type: 'file' };`,
    'export default JSON.parse(new TextDecoder().decode(Bun.zstdDecompressSync(readFileSync(path))));',
  ].join('\n');
}

/** The same exports, read from compressed JSON. */
async function packModule(path: string): Promise<{ filter: RegExp; contents: string }> {
  const exported = { ...((await import(join(root, path))) as Record<string, unknown>) };
  const isJson = path.endsWith('.json');
  const names = Object.keys(exported).filter((name) => name !== 'default');
  const value = isJson ? readText(path) : toJson(path, exported);
  const lines = packJson(path.replaceAll(/\W+/g, '-'), value);
  return {
    filter: new RegExp(`${path.replaceAll(/\W/g, (mark) => (mark === '/' ? '[\\\\/]' : `\\${mark}`))}$`),
    contents: isJson ? lines : lines.replace('export default', `export const { ${names.join(', ')} } =`),
  };
}

/**
 * The exports of a module as JSON. Throws where the executable would not get back what they are, a
 * function for instance, which compiles and fails when it is called.
 */
export function toJson(path: string, exported: Record<string, unknown>): string {
  for (const [name, value] of Object.entries(exported)) {
    const text = JSON.stringify(value);
    if (text === undefined || !isDeepStrictEqual(JSON.parse(text), value))
      throw new Error(`${path} is held as JSON, and its export ${name} is more than texts and tables: move it`);
  }
  return JSON.stringify(exported);
}

/** All migrations in one: of most of them nobody has a database that needs them. */
function packMigrations(): string {
  const texts = [...new Bun.Glob('migrations/**/*.sql').scanSync({ cwd: root })].sort();
  return packJson('migrations', JSON.stringify(Object.fromEntries(texts.map((path) => [path, readText(path)]))));
}

const readText = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Where the compressed content is. */
function writePacked(name: string, content: string | Uint8Array): string {
  const file = join(root, folder, `${name}.zst.bin`);
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(file, compress(content));
  return file;
}

const compress = (content: string | Uint8Array): Buffer =>
  zstdCompressSync(content, { params: { [constants.ZSTD_c_compressionLevel]: 19 } });

/** One module for each name, with the exports of the original. */
async function bundleLibrary(names: readonly string[]): Promise<{ name: string; content: string }[]> {
  const [first = ''] = names;
  const file = join(root, folder, `${first.replaceAll(/[^a-z-]+/g, '-').replace(/^-/, '')}.js.zst.bin`);
  mkdirSync(join(root, folder), { recursive: true });
  const entry = `${file}.entry.js`;
  const lines = names.map((name, index) => `export * as module${index} from ${JSON.stringify(name)};`);
  await Bun.write(entry, lines.join('\n'));
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    target: 'bun',
    format: 'esm',
    minify: true,
    define: withoutFolders,
    throw: true,
  });
  writeFileSync(file, compress((await outputs[0]?.text()) ?? ''));
  return Promise.all(
    names.map(async (name, index) => {
      const exported = Object.keys((await import(name)) as object).filter((key) => isName.test(key));
      const rest = exported.filter((key) => key !== 'default');
      return {
        name,
        content: [
          `import path from ${JSON.stringify(file)} with { type: 'file' };`,
          `import { unpack } from 'late:unpack';`,
          `const { module${index}: loaded } = await unpack(path);`,
          ...(exported.includes('default') ? ['export default loaded.default;'] : []),
          `export const { ${rest.join(', ')} } = loaded;`,
        ].join('\n'),
      };
    }),
  );
}
