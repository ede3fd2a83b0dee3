import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { readRelayableRequest } from '../../src/http/bodies/read-client-request.ts';
import { createUploadBudget, openUploadFolder } from '../../src/http/bodies/upload-folder.ts';
import { type Json, type JsonObject, silentLogger } from '../../src/kernel/index.ts';
import { readRelayRequest } from '../../src/relay/bodies/read-relay-request.ts';
import { estimateReservation } from '../../src/relay/usage/estimate-reservation.ts';
import type { RelayKind } from '../../src/store/ports/index.ts';
import type { ClientRequest } from '../../src/tasks/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const BYTES = 700_000;
const DOCUMENT = Buffer.alloc(BYTES, 'a b c d ').toString('base64');
const starting = (...start: (number | string)[]) =>
  Buffer.concat([...start.map((part) => Buffer.from(typeof part === 'string' ? part : [part])), Buffer.alloc(BYTES)]);
const PNG = starting(0x89, 'PNG\r\n', 0x1a, '\n');
const JPEG = starting(0xff, 0xd8, 0xff, 0xe0);
const WEBP = starting('RIFF', 0, 0, 0, 0, 'WEBP');
const AVIF = starting(0, 0, 0, 0x1c, 'ftypavif');
const BITMAP = starting('BM').toString('base64');
const toUri = (type: string, base64: string) => `data:${type};base64,${base64}`;

/** Tokens beside those of the words around them. */
const WORDS = 60;
const NO_BODY = { kind: 'none' } as ClientRequest['body'];
const count = async (kind: RelayKind, values: JsonObject, { body = NO_BODY, storedTokens = 0 } = {}) =>
  Number(
    (await estimateReservation({ kind, values }, { body }, { settings: {}, soundSeconds: undefined, storedTokens }))
      .input_tokens,
  );
const estimateInputTokens = (values: JsonObject, kind: RelayKind = 'chat', storedTokens = 0) =>
  count(kind, values, { storedTokens });
const countPart = (part: Json) => estimateInputTokens({ messages: [{ role: 'user', content: [part] }] });

describe('the input that is reserved', () => {
  const documents: [name: string, part: Json][] = [
    ['a file of a chat', { type: 'file', file: { filename: 'a.txt', file_data: toUri('text/plain', DOCUMENT) } }],
    ['a file without a label', { type: 'file', file: { filename: 'a.txt', file_data: DOCUMENT } }],
    ['a file of a response', { type: 'input_file', file_data: toUri('application/pdf', DOCUMENT) }],
    ['a document in place of an image', { type: 'image_url', image_url: { url: toUri('application/pdf', DOCUMENT) } }],
    ['text that is labelled as an image', { type: 'image_url', image_url: { url: toUri('image/png', DOCUMENT) } }],
    ['text of an image', { type: 'input_image', image_url: toUri('image/svg+xml', DOCUMENT) }],
    ['text that begins as an image', { file_data: toUri('text/plain', PNG.toString('base64')) }],
    ['a file without a label that begins as an image', { file: { filename: 'a.txt', file_data: BITMAP } }],
    ['inline data', { inline_data: { mime_type: 'text/plain', data: DOCUMENT } }],
    ['inline data in another spelling', { inlineData: { mimeType: 'text/plain', data: PNG.toString('base64') } }],
    ['a source', { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: DOCUMENT } }],
    ['a label with parameters', { url: toUri('text/plain;charset=utf-8;name=a', DOCUMENT) }],
    ['a file in an unknown member', { type: 'other', attachment: toUri('text/plain', DOCUMENT) }],
  ];
  for (const [name, part] of documents)
    test(`a large document on a small balance: it counts by its bytes: ${name}`, async () => {
      expect(await countPart(part)).toBeWithin(BYTES / 4, BYTES / 4 + WORDS);
    });

  const texts: [name: string, values: JsonObject][] = [
    ['text', { messages: [{ role: 'user', content: [{ type: 'text', text: 'DATA' }] }] }],
    ['content', { messages: [{ role: 'user', content: 'DATA' }] }],
    ['input', { input: 'DATA' }],
    ['input as a list', { input: ['DATA'] }],
    ['instructions', { instructions: 'DATA' }],
    ['a prompt', { prompt: 'DATA' }],
    ['the output of a tool', { input: [{ type: 'function_call_output', output: 'DATA' }] }],
    ['a text as a document', { source: { type: 'text', media_type: 'text/plain', data: 'DATA' } }],
  ];
  for (const [name, values] of texts)
    test(`a large document on a small balance: text that begins like a file is text: ${name}`, async () => {
      for (const start of ['data:', 'data:image/png;base64,iVBORw0KGgo=', 'https://x.example/'])
        expect(
          await estimateInputTokens(
            JSON.parse(JSON.stringify(values).replace('DATA', `${start} ${'a b '.repeat(50_000)}`)),
          ),
        ).toBeGreaterThanOrEqual(50_000);
    });

  const images: [name: string, part: Json][] = [
    ...[PNG, JPEG, WEBP, AVIF].map((bytes, nth): [string, Json] => [
      `an image of a chat, ${nth}`,
      { type: 'image_url', image_url: { url: toUri('image/png', bytes.toString('base64')) } },
    ]),
    ['an image of a response', { type: 'input_image', image_url: toUri('image/jpeg', JPEG.toString('base64')) }],
    ['an image without a label', { type: 'image_url', image_url: { url: JPEG.toString('base64') } }],
    ['inline data', { inline_data: { mime_type: 'image/webp', data: WEBP.toString('base64') } }],
    ['a source', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.toString('base64') } }],
    ['an image as a file', { type: 'input_file', file_data: toUri('image/png', PNG.toString('base64')) }],
    ['a remote image', { type: 'image_url', image_url: { url: 'https://x.example/a.png' } }],
    ['a remote image as text', { type: 'input_image', image_url: 'https://x.example/a.png' }],
    ['a remote file', { type: 'input_file', file_url: 'HTTPS://x.example/a.pdf' }],
    ['a remote file of a bucket', { file_data: { file_uri: 'gs://bucket/a.pdf' } }],
    ['a remote source', { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } }],
    ['a small file', { type: 'file', file: { file_data: toUri('text/plain', 'YQ==') } }],
  ];
  for (const [name, part] of images)
    test(`an image or a remote file counts 1,000 tokens: ${name}`, async () => {
      expect(await countPart(part)).toBeWithin(1000, 1000 + WORDS);
    });

  test('sound and film of unknown length count as a second for 1,000 bytes', async () => {
    const data = Buffer.alloc(BYTES).toString('base64');
    const parts: Json[] = [
      { type: 'input_audio', input_audio: { data, format: 'wav' } },
      { type: 'audio_url', audio_url: { url: toUri('audio/mpeg', data) } },
      { type: 'video_url', video_url: { url: toUri('video/mp4', data) } },
      { inline_data: { mime_type: 'audio/mp3', data } },
    ];
    for (const part of parts)
      expect(await countPart(part)).toBeWithin((BYTES / 1000) * 32, (BYTES / 1000) * 32 + WORDS);
  });

  test('many files are added, up to the most that a model takes', async () => {
    const part = { type: 'input_file', file_data: DOCUMENT };
    expect(await estimateInputTokens({ input: [part, part] }, 'response')).toBeWithin(BYTES / 2, BYTES / 2 + WORDS);
    expect(await estimateInputTokens({ input: Array(100).fill(part) }, 'response')).toBe(10_000_000);
    expect(await estimateInputTokens({ input: 'x' }, 'response', 5000)).toBeWithin(5000, 5000 + WORDS);
    expect(await estimateInputTokens({ input: 'x' }, 'response', 1e12)).toBe(10_000_000);
  });

  test('the sound of a transcription counts by its length', async () => {
    const size = 2_000_000;
    const file = {
      ref: '',
      field: 'file',
      filename: 'a.mp3',
      mimeType: 'audio/mpeg',
      size,
      stream: async function* () {},
    };
    const body = { kind: 'multipart' as const, fields: {}, files: [file] };
    const expected: [soundSeconds: number | undefined, tokens: number][] = [
      [undefined, 64_000],
      [600, 19_200],
      [1, 1000],
    ];
    for (const [soundSeconds, input_tokens] of expected) {
      const measured = { settings: {}, soundSeconds, storedTokens: 0 };
      expect(await estimateReservation({ kind: 'transcription', values: {} }, { body }, measured)).toMatchObject({
        input_tokens,
      });
    }
  });
});

describe('a body whose files are extracted', () => {
  const LONG = 1_200_000;
  const budget = createUploadBudget({ nodeBytes: Number.POSITIVE_INFINITY, userBytes: Number.POSITIVE_INFINITY });
  const folder = join(temporaryFolder(), 'uploads');
  const uploads = openUploadFolder({ folder, budget, logger: silentLogger }).of(1);

  async function read(values: JsonObject): Promise<ClientRequest> {
    const headers = { 'content-type': 'application/json' };
    const request = new Request('http://gateway.local/v1', { method: 'POST', headers, body: JSON.stringify(values) });
    const { client } = await readRelayableRequest(request, { uploads, maxFileBytes: 8e6 });
    return client;
  }
  async function countExtracted(kind: RelayKind, values: JsonObject): Promise<number> {
    const { body } = await read(values);
    if (body.kind !== 'json') throw new Error(body.kind);
    expect(body.text?.length).toBeLessThan(2000);
    return count(kind, body.value as JsonObject, { body });
  }

  const text = 'a'.repeat(LONG);
  const document = Buffer.alloc(LONG, 'a b c d ').toString('base64');
  const lines = document.replace(/.{76}/g, '$&\r\n');
  const png = Buffer.concat([PNG, PNG]).toString('base64');
  const sized: [name: string, kind: RelayKind, values: JsonObject, tokens: number][] = [
    ['a file', 'response', { input: [{ type: 'input_file', file_data: document }] }, LONG / 4],
    ['a file with line ends', 'response', { input: [{ type: 'input_file', file_data: lines }] }, LONG / 4],
    ['a labelled file', 'response', { input: [{ file_data: toUri('application/pdf', document) }] }, LONG / 4],
    [
      'text in place of an image',
      'chat',
      { messages: [{ image_url: { url: toUri('image/png', document) } }] },
      LONG / 4,
    ],
    ['an unknown member', 'chat', { messages: [{ other: document }] }, document.length / 4],
    ['content', 'chat', { messages: [{ role: 'user', content: text }] }, LONG / 4],
    ['runs within content', 'chat', { messages: [{ content: `Read ${text} and ${text}.` }] }, LONG / 2],
    ['text that begins as an image', 'chat', { messages: [{ content: toUri('image/png', png) }] }, png.length / 4],
    ['input', 'embedding', { input: [text] }, LONG / 4],
    ['a name', 'chat', { messages: [], [text.slice(0, 400_000)]: text }, LONG / 3],
    ['sound', 'chat', { messages: [{ input_audio: { data: document } }] }, (LONG / 1000) * 32],
  ];
  for (const [name, kind, values, tokens] of sized)
    test(`a large document on a small balance: it counts by its size: ${name}`, async () => {
      expect(await countExtracted(kind, values)).toBeWithin(tokens, tokens + 2 * WORDS);
    });

  test('images found by their first bytes count 1,000 tokens each', async () => {
    const urls = [png, toUri('image/png', png), toUri('image/png', `\r\n${png}`)];
    for (const url of urls)
      expect(await countExtracted('chat', { messages: [{ image_url: { url } }] })).toBeWithin(1000, 1000 + WORDS);
  });

  test('a long text to speak on a small balance: all its characters count', async () => {
    const values = { model: 'tts-1', voice: 'alloy', input: `Say ${text}.` };
    const client = await read(values);
    expect(readRelayRequest({ kind: 'speech', requestId: '', client, headers: {} }).facts).toEqual({
      characters: LONG + 5,
    });
  });
});
