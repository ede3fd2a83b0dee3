/**
 * JSON bodies of API clients: checked before they are parsed; files in Base64 are extracted from
 * bodies that are too large for plugins.
 */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { BODY_LIMITS } from '../../../src/http/bodies/body-limits.ts';
import { createFileExtractor } from '../../../src/http/bodies/extract-files.ts';
import { readClientRequest, readRelayableRequest } from '../../../src/http/bodies/read-client-request.ts';
import { createUploadBudget, openUploadFolder } from '../../../src/http/bodies/upload-folder.ts';
import { AppError, silentLogger } from '../../../src/kernel/index.ts';
import type { ClientRequest } from '../../../src/tasks/index.ts';
import { restoreFiles } from '../../../src/vendors/request/restore-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MIB = 1024 * 1024;
const MAX_FILE_BYTES = 8 * MIB;
/** Runs are the same each time; a failure prints seed and path. */
const RUNS = { seed: 20_261_122, numRuns: 60 };

let onDisk = 0;
const endless = createUploadBudget({ nodeBytes: Number.POSITIVE_INFINITY, userBytes: Number.POSITIVE_INFINITY });
const budget = {
  reserve(user: number | null, bytes: number) {
    endless.reserve(user, bytes);
    onDisk += bytes;
  },
  release(user: number | null, bytes: number) {
    endless.release(user, bytes);
    onDisk -= bytes;
  },
};
const uploads = openUploadFolder({ folder: join(temporaryFolder(), 'uploads'), budget, logger: silentLogger }).of(1);
const limits = { uploads, maxFileBytes: MAX_FILE_BYTES };

/** Sends the body in chunks, without a declared length. */
function asStream(body: string): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(body);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + 100_000)));
      at += 100_000;
    },
  });
}

const requestFor = (body: string, isChunked = true) =>
  new Request('http://gateway.local/v1/tasks/demo', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: isChunked ? asStream(body) : body,
  });
const read = (body: string, isChunked = true) => readClientRequest(requestFor(body, isChunked), {}, limits);

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += Buffer.from(chunk).toString();
  return text;
}

/** The JSON text that a vendor would get, with the files put back. */
async function restored(client: ClientRequest): Promise<string> {
  if (client.body.kind !== 'json') throw new Error(client.body.kind);
  const { value, extracted } = client.body;
  const pieces = restoreFiles([JSON.stringify(value)], { extracted, maxBytes: Number.POSITIVE_INFINITY, inJson: true });
  if (!pieces.ok) throw new Error(pieces.error.message);
  let text = '';
  for (const piece of pieces.value) text += typeof piece === 'string' ? piece : await readText(piece.stream());
  return text;
}

const base64 = (bytes: number, seed = 7): string =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, i) => (i * seed + (i >> 8)) & 255)).toString('base64');

const floods: [name: string, body: string, code: string, says: string][] = [
  ['millions of empty objects in 8 MB', `{"x":[${'{},'.repeat(2_700_000)}{}]}`, 'http.too_large', '20,000'],
  ['20,001 values', `[${'1,'.repeat(19_999)}1]`, 'http.too_large', '20,000'],
  ['members of one object', `{"a":{${'"k":0,'.repeat(30_000)}"k":0}}`, 'http.too_large', '20,000'],
  ['a depth of 100,000', '['.repeat(100_000), 'http.bad_json', '64 levels'],
  ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`, 'http.bad_json', '64 levels'],
  ['a text of more than 1 MiB', JSON.stringify({ prompt: 'a b '.repeat(MIB / 4) }), 'http.too_large', '1 MB'],
  ['more than 1 MiB in short Base64', JSON.stringify(Array(30).fill(base64(45_000))), 'http.too_large', '1 MB'],
  ['files of 18 MiB', JSON.stringify(Array(3).fill(base64(4.5 * MIB))), 'http.too_large', '16 MB'],
  ['a file above the cap', JSON.stringify({ image: base64(MAX_FILE_BYTES + 3) }), 'http.too_large', 'larger than 8 MB'],
];

describe('JSON floods by an API key', () => {
  test('an id that a number would round is a text of its digits; the relay gets the body as sent', async () => {
    const body = '{ "id":7615917337495251231,"task_ids":[9007199254740993,1], "seed":1.50 }';
    const value = { id: '7615917337495251231', task_ids: ['9007199254740993', 1], seed: 1.5 };
    expect((await read(body)).body).toEqual({ kind: 'json', value });
    const { client } = await readRelayableRequest(requestFor(body), limits);
    expect(client.body).toEqual({ kind: 'json', value, text: body });
  });

  for (const isChunked of [true, false]) {
    test.each(floods)(`%s is refused (${isChunked ? 'chunked' : 'declared'})`, async (_name, body, code, says) => {
      const refusal = await read(body, isChunked).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(AppError);
      expect(refusal).toMatchObject({ code, message: expect.stringContaining(says) });
      expect(onDisk).toBe(0);
    });
  }

  test('a body exactly at its limits is accepted', async () => {
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`;
    expect((await read(deep)).body).toEqual({ kind: 'json', value: JSON.parse(deep) });
    const wide = `[${'1,'.repeat(19_998)}1]`;
    expect((await read(wide)).body).toMatchObject({ kind: 'json' });
    const image = base64(700_000);
    const large = JSON.stringify({ image, pad: ' '.repeat(MIB - image.length - 21) });
    expect([large.length, (await read(large)).body]).toEqual([MIB, { kind: 'json', value: JSON.parse(large) }]);
  });

  test('the relay accepts whole conversations; a plugin refuses them', async () => {
    const body = JSON.stringify({ input: Array(25_000).fill('a word or two') });
    const { client, assertForPlugin } = await readRelayableRequest(requestFor(body), limits);
    expect(client.body.kind === 'json' && client.body.value).toEqual(JSON.parse(body));
    expect(assertForPlugin).toThrow('20,000');
    const long = JSON.stringify({ input: 'a b '.repeat(0.9 * MIB) });
    expect((await readRelayableRequest(requestFor(long), limits)).assertForPlugin).toThrow('1 MB');
    const millions = `{"input":[${'{},'.repeat(200_000)}{}]}`;
    await expect(readRelayableRequest(requestFor(millions), limits)).rejects.toMatchObject({ code: 'http.too_large' });
  });
});

describe('files in JSON', () => {
  test('a data URL of 5 MB is extracted from the body and comes back byte for byte', async () => {
    const image = `data:image/png;base64,${base64(5 * MIB)}`;
    const sent = JSON.stringify({ model: 'm', image, images: [base64(300_000, 3), 'short'] });
    const client = await read(sent);
    if (client.body.kind !== 'json') throw new Error(client.body.kind);
    const value = client.body.value as { image: string; images: string[] };
    expect(value.image).toMatch(/^data:image\/png;base64,[A-Za-z0-9]{40}$/);
    expect(JSON.stringify(value).length).toBeLessThan(1000);
    expect(value.images[1]).toBe('short');
    expect(await restored(client)).toBe(sent);
    // A second time, as for the next channel.
    expect(await restored(client)).toBe(sent);
    expect(onDisk).toBeGreaterThan(5 * MIB);
    await client.release();
    expect(onDisk).toBe(0);
  });

  test('slashes escaped by PHP and lines of 76 characters are parts of a file', async () => {
    const lines = (base64(2 * MIB).match(/.{1,76}/g) ?? []).join('\r\n');
    const sent = JSON.stringify({ lines, php: base64(MIB) });
    const client = await read(sent.replaceAll('/', '\\/'));
    expect(client.body.kind === 'json' && client.body.extracted?.files.length).toBe(2);
    // The same JSON value: an escaped slash equals a plain one.
    expect(await restored(client)).toBe(sent);
    await client.release();
  });

  test('plus signs escaped by .NET are parts of a file', async () => {
    const sent = JSON.stringify({ image: base64(3 * MIB) });
    const client = await read(sent.replaceAll('+', '\\u002B').replaceAll('/', '\\u002f'));
    expect(client.body.kind === 'json' && client.body.extracted?.files.length).toBe(1);
    expect(await restored(client)).toBe(sent);
    await client.release();
  });

  test('two files within one text, and URL-safe Base64, come back', async () => {
    const safe = base64(900_000).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const sent = JSON.stringify({ text: `![a](data:image/png;base64,${base64(900_000)}) and ![b](${safe})` });
    const client = await read(sent);
    expect(client.body.kind === 'json' && client.body.extracted?.files.length).toBe(2);
    expect(await restored(client)).toBe(sent);
    await client.release();
  });

  test('any text in any chunks comes back unchanged, with or without files', async () => {
    const piece = fc.oneof(
      fc.string({ unit: fc.constantFrom('"', '\\', '/', '\n', '\r', '\t', 'é', '😀', 'A', ',', '=') }),
      fc.constantFrom(base64(48_000), base64(49_152), base64(70_000), 'A'.repeat(65_535), 'B'.repeat(65_536)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(piece, { maxLength: 4 }), { maxLength: 3 }),
        fc.integer({ min: 1, max: 90_000 }),
        async (texts, size) => {
          const sent = JSON.stringify(texts.map((parts) => parts.join('')));
          const extractor = createFileExtractor({ ...limits, limit: BODY_LIMITS.relay });
          const bytes = Buffer.from(sent);
          for (let at = 0; at < bytes.length; at += size) await extractor.write(bytes.subarray(at, at + size));
          const { rest, files } = await extractor.end();
          const value = JSON.parse(Buffer.from(rest).toString());
          const body = { kind: 'json', value, extracted: files } as const;
          expect(await restored({ body } as ClientRequest)).toBe(sent);
          expect(files.files.every(({ size: bytesOf }) => bytesOf >= 65_536)).toBe(true);
          await extractor.release();
        },
      ),
      RUNS,
    );
  });

  test('an aborted body leaves nothing on disk', async () => {
    await expect(read(`{"image":"${base64(2 * MIB)}`)).rejects.toMatchObject({ code: 'http.bad_json' });
    expect(onDisk).toBe(0);
  });

  test('a token that a plugin cut or moved where no file can be is refused', async () => {
    const client = await read(JSON.stringify({ image: (base64(2 * MIB).match(/.{1,76}/g) ?? []).join('\n') }));
    if (client.body.kind !== 'json') throw new Error(client.body.kind);
    const { extracted, value } = client.body;
    const where = { extracted, maxBytes: 10 * MIB, inJson: true };
    const token = (value as { image: string }).image;
    expect(restoreFiles([token.slice(0, -1)], where).ok).toBe(false);
    expect(restoreFiles([token], { ...where, inJson: false }).ok).toBe(false);
    expect(restoreFiles([token.repeat(6)], where)).toMatchObject({ ok: false });
    expect(restoreFiles([token.repeat(4)], where).ok).toBe(true);
    await client.release();
  });
});
