/**
 * File placeholders in JSON bodies: every rule of the contract's table, and the bytes on the wire.
 */
import { describe, expect, test } from 'bun:test';
import type { RequestFile } from '../../src/files/types.ts';
import type { Json } from '../../src/kernel/index.ts';
import { inlineFiles } from '../../src/vendors/request/inline-files.ts';

/** A file that yields `step` bytes at a time. */
const file = (
  field: string,
  bytes: Uint8Array | string,
  { mimeType = 'image/png', step = 1 << 20 }: { mimeType?: string; step?: number } = {},
): RequestFile => {
  const content = Buffer.from(bytes as string);
  return {
    ref: `request_file:${field}`,
    field,
    filename: `${field}.png`,
    mimeType,
    size: content.length,
    async *stream() {
      for (let at = 0; at < content.length; at += step) yield new Uint8Array(content.subarray(at, at + step));
    },
  };
};

type Inlined = ReturnType<typeof inlineFiles>;

/** The body as it is sent; each piece must have its announced length. */
async function sent(inlined: Inlined): Promise<string> {
  if (!inlined.ok) throw new Error(inlined.error.message);
  let text = '';
  for (const piece of inlined.value) {
    if (typeof piece === 'string') {
      text += piece;
      continue;
    }
    let written = '';
    for await (const chunk of piece.stream()) written += Buffer.from(chunk).toString('latin1');
    expect(written.length).toBe(piece.size);
    text += written;
  }
  return text;
}

const IMAGE = { __fileRef: 'request_file:image', encoding: 'base64' };
const files = [
  file('image', 'pixels'),
  file('plain', 'text', { mimeType: '' }),
  file('empty', ''),
  file('typed', 'abc', { mimeType: 'image/svg+xml; charset="utf-8"' }),
  { ...file('image', 'second'), ref: 'request_file:image#1' },
];

describe('placeholders become file contents', () => {
  const rows: [name: string, body: Json, expected: Json][] = [
    ['base64 as the whole body', IMAGE, btoa('pixels')],
    ['at any depth of objects and lists', { a: [{ b: [[IMAGE]] }] }, { a: [{ b: [[btoa('pixels')]] }] }],
    ['the same file twice', [IMAGE, IMAGE], [btoa('pixels'), btoa('pixels')]],
    ['a later file of the same field', { ...IMAGE, __fileRef: 'request_file:image#1' }, btoa('second')],
    ['an empty file', { ...IMAGE, __fileRef: 'request_file:empty' }, ''],
    ['a data URL takes the part header', { ...IMAGE, encoding: 'dataUrl' }, `data:image/png;base64,${btoa('pixels')}`],
    [
      'the part header as it was sent',
      { __fileRef: 'request_file:typed', encoding: 'dataUrl' },
      `data:image/svg+xml; charset="utf-8";base64,${btoa('abc')}`,
    ],
    [
      'mimeType overrides the part header',
      { ...IMAGE, encoding: 'dataUrl', mimeType: 'image/webp' },
      `data:image/webp;base64,${btoa('pixels')}`,
    ],
    [
      'mimeType is escaped like every text',
      { ...IMAGE, encoding: 'dataUrl', mimeType: 'a/b","injected":"\n' },
      `data:a/b","injected":"\n;base64,${btoa('pixels')}`,
    ],
    ['mimeType has no place in raw base64', { ...IMAGE, mimeType: 'image/webp' }, btoa('pixels')],
    [
      'no type at all',
      { __fileRef: 'request_file:plain', encoding: 'dataUrl' },
      `data:application/octet-stream;base64,${btoa('text')}`,
    ],
    ['a cap of the size of the file', { ...IMAGE, maxBytes: 6 }, btoa('pixels')],
    ['a body without placeholders', { a: ['request_file:image', null, 1] }, { a: ['request_file:image', null, 1] }],
  ];
  test.each(rows)('%s', async (_name, body, expected) => {
    expect(JSON.parse(await sent(inlineFiles(body, files, 100)))).toEqual(expected);
  });

  test('the plugin’s text around them stays byte for byte', async () => {
    const around = { z: 'ü\u2028"\\/\u0000', a: 1e21, '': -0, __proto__x: { y: [] }, n: [0.1, true, null, {}] };
    const body = { ...around, file: IMAGE, last: '\ud83d\ude00' } as Json;
    const marked = JSON.stringify({ ...around, file: '@', last: '\ud83d\ude00' });
    expect(await sent(inlineFiles(body, files, 100))).toBe(marked.replace('"@"', `"${btoa('pixels')}"`));
  });

  test('a key named __proto__ is data like any other', async () => {
    const body = JSON.parse('{"__proto__":{"__fileRef":"request_file:image","encoding":"base64"}}') as Json;
    expect(await sent(inlineFiles(body, files, 100))).toBe(`{"__proto__":"${btoa('pixels')}"}`);
  });

  test('chunks of any length give the same Base64', async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(1000));
    for (const step of [1, 2, 3, 4, 5, 7, 64, 999, 1000]) {
      const text = await sent(inlineFiles(IMAGE, [file('image', bytes, { mimeType: '', step })], 1000));
      expect(text).toBe(`"${Buffer.from(bytes).toString('base64')}"`);
    }
  });

  test('a body without files is sent as one text', () => {
    expect(inlineFiles({ a: 1 }, [], 100)).toEqual({ ok: true, value: ['{"a":1}'] });
  });
});

describe('refused placeholders', () => {
  const rows: [name: string, body: Json, cap: number, says: string][] = [
    ['an unknown file', { ...IMAGE, __fileRef: 'request_file:nope' }, 100, 'refers to a file "request_file:nope"'],
    ['a reference that is empty', { ...IMAGE, __fileRef: '' }, 100, '__fileRef must be a string'],
    ['a reference that is not text', { ...IMAGE, __fileRef: 7 }, 100, '__fileRef must be a string'],
    ['no encoding', { __fileRef: 'request_file:image' }, 100, 'encoding must be'],
    ['another encoding', { ...IMAGE, encoding: 'hex' }, 100, 'encoding must be'],
    ['an encoding in other letters', { ...IMAGE, encoding: 'dataURL' }, 100, 'encoding must be'],
    ['another property', { ...IMAGE, extra: 1 }, 100, 'unknown property "extra"'],
    ['an empty type', { ...IMAGE, encoding: 'dataUrl', mimeType: '' }, 100, 'mimeType must be'],
    ['a blank type', { ...IMAGE, encoding: 'dataUrl', mimeType: ' ' }, 100, 'mimeType must be'],
    ['a type that is not text', { ...IMAGE, encoding: 'dataUrl', mimeType: 7 }, 100, 'mimeType must be'],
    ['a cap of nothing', { ...IMAGE, maxBytes: 0 }, 100, 'maxBytes must be'],
    ['a cap below nothing', { ...IMAGE, maxBytes: -1 }, 100, 'maxBytes must be'],
    ['a fraction of a byte', { ...IMAGE, maxBytes: 1.5 }, 100, 'maxBytes must be'],
    ['a cap as text', { ...IMAGE, maxBytes: '5' }, 100, 'maxBytes must be'],
    ['a file above its own cap', { ...IMAGE, maxBytes: 5 }, 100, 'larger than 5 bytes'],
    ['a file above the cap of the gateway', IMAGE, 5, 'larger than 5 bytes'],
    ['an own cap cannot lift that of the gateway', { ...IMAGE, maxBytes: 50 }, 5, 'larger than 5 bytes'],
    ['all files together', [IMAGE, { ...IMAGE, __fileRef: 'request_file:plain' }], 8, 'larger than 8 bytes in total'],
    ['one file twice counts twice', [IMAGE, IMAGE], 11, 'larger than 11 bytes in total'],
  ];
  test.each(rows)('%s', (_name, body, cap, says) => {
    const inlined = inlineFiles({ deep: [body] }, files, cap);
    expect(inlined.ok ? '' : inlined.error.message).toContain(says);
  });

  test('without a multipart request there is no file to reference', () => {
    const inlined = inlineFiles(IMAGE, [], 100);
    expect(inlined.ok ? '' : inlined.error.message).toBe(
      'The plugin refers to a file "request_file:image" that the request does not have.',
    );
  });
});
