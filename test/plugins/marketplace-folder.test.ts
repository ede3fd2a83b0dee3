/**
 * Writing the index of a folder of plugins, and checking a folder against its index: valid and
 * broken ones.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkFolder } from '../../src/plugins/marketplace/check-folder.ts';
import { writeIndex } from '../../src/plugins/marketplace/write-index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { PNG, sha256 } from '../support/market-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { pluginSource, startSandbox } from './support.ts';

const put = (folder: string, path: string, content: string | Uint8Array) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
};
const code = (key: string, version: string, meta: object = {}) =>
  pluginSource({ key, name: key.toUpperCase(), version, models: [`${key}-1`], ...meta });
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>';

let sandbox: Sandbox;
let folder: string;
const first = code('acme', '1.0.0', { baseUrl: 'https://api.acme.example', allowedHosts: ['cdn.acme.example'] });
const second = code('acme', '1.1.0', { description: { en: 'Videos', zh: '视频' }, website: 'https://acme.example/' });
beforeAll(() => {
  sandbox = startSandbox();
  folder = temporaryFolder();
  put(folder, 'acme/1.0.0.js', first);
  put(folder, 'acme/1.1.0.js', second);
  put(folder, 'acme/1.2.0-rc.1+x.js', code('acme', '1.2.0-rc.1+x'));
  put(folder, 'acme/acme.svg', SVG);
  put(
    folder,
    'single.js',
    code('single', '3.0.0', { sortPriority: 5, auth: { type: 'oauth2_jwt' }, channelTypes: [70] }),
  );
  put(folder, 'single.png', PNG);
  put(folder, 'notes.txt', 'not for the index');
  symlinkSync('/etc/hostname', join(folder, 'outside.js'));
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes the index unless there is a fault, as the command does. */
async function build(dir: string, name?: string, out = join(dir, 'index.json')) {
  const written = await writeIndex({ folder: dir, out, name }, sandbox);
  if (written.faults.length === 0) writeFileSync(out, written.text);
  return written;
}
const check = (dir: string) => checkFolder(dir, sandbox);

describe('a valid folder', () => {
  test('gets the same index every time, which passes the check', async () => {
    const built = await build(folder, 'Ours');
    expect(built).toMatchObject({ name: 'Ours', plugins: 2, versions: 4, faults: [] });
    const { text } = built;
    expect(JSON.parse(text)).toEqual({
      indexVersion: 1,
      name: 'Ours',
      plugins: [
        {
          key: 'acme',
          name: 'ACME',
          iconFile: { path: 'acme/acme.svg', sha256: sha256(SVG) },
          description: { en: 'Videos', zh: '视频' },
          website: 'https://acme.example/',
          models: ['acme-1'],
          latest: '1.1.0',
          versions: [
            {
              version: '1.2.0-rc.1+x',
              path: 'acme/1.2.0-rc.1%2Bx.js',
              sha256: sha256(code('acme', '1.2.0-rc.1+x')),
              minApiVersion: 1,
              kind: 'task',
            },
            { version: '1.1.0', path: 'acme/1.1.0.js', sha256: sha256(second), minApiVersion: 1, kind: 'task' },
            {
              version: '1.0.0',
              path: 'acme/1.0.0.js',
              sha256: sha256(first),
              minApiVersion: 1,
              kind: 'task',
              allowedHosts: ['cdn.acme.example'],
              baseUrl: 'https://api.acme.example',
            },
          ],
        },
        {
          key: 'single',
          name: 'SINGLE',
          iconFile: { path: 'single.png', sha256: sha256(PNG) },
          sortPriority: 5,
          channelTypes: [70],
          models: ['single-1'],
          latest: '3.0.0',
          versions: [
            {
              version: '3.0.0',
              path: 'single.js',
              sha256: expect.any(String),
              minApiVersion: 1,
              kind: 'task',
              auth: 'oauth2_jwt',
            },
          ],
        },
      ],
    });
    expect(text.endsWith('}\n')).toBe(true);

    // The name stays although it is not given again.
    expect((await build(folder)).text).toBe(text);
    expect(await check(folder)).toEqual({ name: 'Ours', plugins: 2, versions: 4, faults: [] });
  });
});

describe('a broken folder', () => {
  test('a published version keeps its source, paths match their content, every fault is reported and nothing is written', async () => {
    const broken = temporaryFolder();
    put(broken, 'acme/1.0.0.js', first);
    expect((await build(broken)).faults).toEqual([]);
    const before = readFileSync(join(broken, 'index.json'), 'utf8');
    put(broken, 'acme/1.0.0.js', `${first}\n// changed`);
    put(broken, 'acme/2.0.0.js', code('acme', '2.0.1'));
    put(broken, 'other/1.0.0.js', code('acme', '3.0.0'));
    put(broken, 'copy.js', code('acme', '3.0.0'));
    put(broken, 'faulty.js', 'export const meta = {};');
    put(broken, 'latin.js', new Uint8Array([0x2f, 0x2f, 0xe9]));
    put(broken, 'other/acme.png', 'no image');
    const found = (await build(broken)).faults.map(({ file, rule }) => `${file} ${rule}`);
    expect(found).toEqual(
      expect.arrayContaining([
        'acme/1.0.0.js market.hash',
        'acme/2.0.0.js market.name',
        'other/1.0.0.js market.name',
        'other/1.0.0.js market.unique',
        'latin.js market.file',
      ]),
    );
    expect(found.some((fault) => fault.startsWith('faulty.js '))).toBe(true);
    expect(readFileSync(join(broken, 'index.json'), 'utf8')).toBe(before);

    expect((await check(broken)).faults).toMatchObject([{ file: 'acme/1.0.0.js', rule: 'market.hash' }]);
  });

  test('a logo that is a link is refused: a gateway that mirrors the folder would not follow it', async () => {
    const linked = temporaryFolder();
    put(linked, 'acme/1.0.0.js', first);
    put(linked, 'logos/drawn.svg', SVG);
    symlinkSync('../logos/drawn.svg', join(linked, 'acme/acme.svg'));
    expect((await build(linked)).faults).toMatchObject([{ file: 'acme/acme.svg', path: 'icon', rule: 'market.icon' }]);
  });

  test('check names what a gateway would skip, hide or refuse', async () => {
    const odd = temporaryFolder();
    put(odd, 'acme/1.0.0.js', first);
    put(odd, 'a.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>');
    const version = { version: '1.0.0', path: 'acme/1.0.0.js', sha256: sha256(first), minApiVersion: 1, kind: 'task' };
    const entry = { key: 'acme', name: 'Acme', latest: '9.0.0', models: ['acme-1'], website: 'http://acme.example' };
    put(
      odd,
      'index.json',
      JSON.stringify({
        indexVersion: 1,
        name: 'Odd',
        plugins: [
          {
            ...entry,
            iconFile: { path: 'a.svg' },
            versions: [version, { ...version, version: '0.9.0', path: 'acme/gone.js' }],
          },
          { ...entry, key: 'other', versions: [{ ...version, minApiVersion: 2 }] },
          { ...entry, key: 'named', latest: '1.0.0', website: '', versions: [version] },
          {
            ...entry,
            key: 'out',
            latest: '1.0.0',
            website: '',
            versions: [{ ...version, path: '../../../etc/hostname' }],
          },
        ],
      }),
    );
    const found = (await check(odd)).faults.map(({ file, path, message }) => `${file} ${path}: ${message}`);
    for (const fault of [
      'index.json /plugins/0: acme: latest is not among the versions',
      'index.json /plugins/0: acme: website must be an absolute https URL',
      'index.json /plugins/1: other@1.0.0: is made for a newer contract (needs plugin API 2)',
      'acme/gone.js source: The file cannot be read (ENOENT).',
      'a.svg icon: ',
      'acme/1.0.0.js meta: The index says allowedHosts [], the plugin ["cdn.acme.example"].',
      'acme/1.0.0.js meta: The file is acme@1.0.0, not named@1.0.0.',
      'source: The file is outside',
    ]) {
      expect([fault, found.some((each) => each.includes(fault))]).toEqual([fault, true]);
    }
  });

  test('a folder without plugins, a missing folder and a file that is not an index are refused', async () => {
    const empty = temporaryFolder();
    expect((await build(empty)).faults).toMatchObject([{ rule: 'market.empty' }]);
    expect((await check(empty)).faults).toMatchObject([{ file: 'index.json', rule: 'market.index' }]);
    expect(build(join(empty, 'nothing'))).rejects.toThrow('ENOENT');
    put(empty, 'acme.js', first);
    put(empty, 'index.json', 'my shopping list');
    expect((await build(empty)).faults).toMatchObject([{ file: 'index.json', rule: 'market.index' }]);
    mkdirSync(join(empty, 'public'));
    const elsewhere = await build(empty, 'Ours', join(empty, 'public/market.json'));
    expect(JSON.parse(elsewhere.text).plugins[0].versions[0].path).toBe('../acme.js');
  });
});
