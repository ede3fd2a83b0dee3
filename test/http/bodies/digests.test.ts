/** Digests of bodies, by which a repeat with an Idempotency-Key is known. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { readClientRequest } from '../../../src/http/bodies/read-client-request.ts';
import { openUploadFolder } from '../../../src/http/bodies/upload-folder.ts';
import { sha256Hex, silentLogger } from '../../../src/kernel/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MIB = 1024 * 1024;
const budget = { reserve() {}, release() {} };
const uploads = openUploadFolder({ folder: join(temporaryFolder(), 'uploads'), budget, logger: silentLogger }).of(1);

type Body = string | FormData | Uint8Array<ArrayBuffer>;
async function listDigests(body: Body, { type, key = 'k' }: { type?: string; key?: string | null } = {}) {
  const headers = {
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(key === null ? {} : { 'idempotency-key': key }),
  };
  const request = new Request('http://a/v1/videos', { method: 'POST', headers, body });
  const client = await readClientRequest(request, {}, { uploads, maxFileBytes: 8 * MIB });
  await client.release();
  return client.digests;
}
const readMeaning = async (body: Body, type?: string) =>
  (await listDigests(body, type === undefined ? {} : { type }))?.meaning;

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

type Part = [name: string, value: string | [bytes: string, name: string, type: string]];
function readForm(parts: Part[]): FormData {
  const form = new FormData();
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([value[0]], { type: value[2] }), value[1]);
  }
  return form;
}

test('nothing is hashed without an Idempotency-Key', async () => {
  expect(await listDigests('{}', { type: JSON_TYPE, key: null })).toBeUndefined();
  expect(await listDigests(readForm([['a', 'b']]), { key: null })).toBeUndefined();
  expect(await listDigests('a=b', { type: FORM_TYPE, key: null })).toBeUndefined();
});

const PARTS: Part[] = [
  ['model', 'm'],
  ['image', ['x'.repeat(300_000), 'a.png', 'image/png']],
  ['tag', '1'],
  ['tag', '2'],
];

test('a form with another boundary is the same', async () => {
  const [one, other] = [await listDigests(readForm(PARTS)), await listDigests(readForm(PARTS))];
  expect(one?.meaning).toBe(other?.meaning as string);
  expect(one?.raw).not.toBe(other?.raw as string);
});

const image = (bytes: string, name = 'a.png', type = 'image/png'): Part => ['image', [bytes, name, type]];
const [model, , one, two] = PARTS as [Part, Part, Part, Part];
const same = 'x'.repeat(300_000);
const otherForms: [what: string, parts: Part[]][] = [
  ['the bytes of a file', [model, image(`${same.slice(1)}y`), one, two]],
  ['the name of a file', [model, image(same, 'b.png'), one, two]],
  ['the type of a file', [model, image(same, 'a.png', 'image/jpeg'), one, two]],
  ['a text', [['model', 'n'], image(same), one, two]],
  ['the name of a part', [['Model', 'm'], image(same), one, two]],
  ['the order of parts', [model, image(same), two, one]],
  ['one part less', [model, image(same), one]],
  ['a text instead of a file', [model, ['image', same], one, two]],
];
test.each(otherForms)('a form with a different %s is a different request', async (_, parts) => {
  expect(await readMeaning(readForm(parts))).not.toBe((await readMeaning(readForm(PARTS))) as string);
});

test('JSON counts by its values, and a file in it by its bytes', async () => {
  expect(await readMeaning('{"a": 1.0, "b": "\\u00fc"}', JSON_TYPE)).toBe(
    (await readMeaning('{"b":"ü","a":1}', JSON_TYPE)) as string,
  );
  const base64 = Buffer.alloc(MIB, 'a').toString('base64');
  const text = (file: string) => JSON.stringify({ image: `data:image/png;base64,${file}`, n: 1 });
  const first = await listDigests(text(base64), { type: JSON_TYPE });
  // The token of a file is random for each request.
  expect(await listDigests(text(base64), { type: JSON_TYPE })).toEqual(first);
  const reordered = `{ "n": 1.0, "image": "data:image/png;base64,${base64}" }`;
  expect(await readMeaning(reordered, JSON_TYPE)).toBe(first?.meaning as string);
  expect(await readMeaning(text(`B${base64.slice(1)}`), JSON_TYPE)).not.toBe(first?.meaning as string);
  const swapped = (a: string, b: string) => readMeaning(JSON.stringify({ a, b }), JSON_TYPE);
  const other = Buffer.alloc(MIB, 'b').toString('base64');
  expect(await swapped(base64, other)).not.toBe((await swapped(other, base64)) as string);
});

test('an urlencoded form counts by its values, and an empty body as none', async () => {
  expect(await readMeaning('a=1+2&b=%41&__proto__=1', FORM_TYPE)).toBe(
    (await readMeaning('b=A&__proto__=1&a=1%202', FORM_TYPE)) as string,
  );
  expect(await readMeaning('a=1&a=2', FORM_TYPE)).not.toBe((await readMeaning('a=2&a=1', FORM_TYPE)) as string);
  expect(await readMeaning('a=1', FORM_TYPE)).not.toBe((await readMeaning('a=1&__proto__=1', FORM_TYPE)) as string);
  expect(await listDigests('', {})).toEqual({ raw: sha256Hex(''), meaning: '' });
});
