import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
];

/**
 * Libraries that ask for their folder get none: it would be the one of this build, and two builds
 * would differ.
 */
export const withoutFolders = { __dirname: '"/"', __filename: '"/index.js"' };

const folder = 'build/late-libraries';
const factoryManifest = join(root, 'build/factory/manifest.gen.ts');
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
  const factory = await packFactory();
  return {
    name: 'late libraries',
    setup(build) {
      build.onResolve({ filter: /^[@a-z]/ }, ({ path }) =>
        contentOf.has(path) ? { path, namespace: 'late' } : undefined,
      );
      build.onResolve({ filter: /^late:unpack$/ }, ({ path }) => ({ path, namespace: 'unpack' }));
      build.onLoad({ filter: /build[\\/]factory[\\/]manifest\.gen\.ts$/ }, () => ({
        contents: factory,
        loader: 'js',
        resolveDir: root,
      }));
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
 * The factory plugins' texts, which compiled code would hold a second time. A start unpacks and
 * parses them in a millisecond.
 */
async function packFactory(): Promise<string> {
  const { factoryPlugins } = (await import(factoryManifest)) as { factoryPlugins: unknown };
  const file = join(root, folder, 'factory-plugins.json.zst.bin');
  writeFileSync(file, compress(JSON.stringify(factoryPlugins)));
  return [
    "import { readFileSync } from 'node:fs';",
    `import path from ${JSON.stringify(file)} with { type: 'file' };`,
    'const text = new TextDecoder().decode(Bun.zstdDecompressSync(readFileSync(path)));',
    'export const factoryPlugins = JSON.parse(text);',
  ].join('\n');
}

const compress = (text: string): Buffer =>
  zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 19 } });

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
