import { join } from 'node:path';
import { BODY_LIMITS, type BodyLimitName } from '../../../src/http/bodies/body-limits.ts';
import { readMultipart, readUrlencoded } from '../../../src/http/bodies/read-form.ts';
import { readJsonBody } from '../../../src/http/bodies/read-json.ts';
import { openUploadFolder } from '../../../src/http/bodies/upload-folder.ts';
import { AppError, editJson, MAX_JSON_NAME_BYTES, silentLogger } from '../../../src/kernel/index.ts';
import { buildRelayBody } from '../../../src/relay/bodies/build-relay-request.ts';
import { readRelayRequest } from '../../../src/relay/bodies/read-relay-request.ts';
import type { ClientRequest } from '../../../src/tasks/types.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { fill, stallCase } from '../measure-block.ts';

const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;
const uploads = openUploadFolder({
  folder: join(temporaryFolder(), 'uploads'),
  budget: { reserve() {}, release() {} },
  logger: silentLogger,
}).of(1);
const storage = { uploads, maxFileBytes: 64 * MIB };

/** Splits bytes into chunks as a socket delivers them. */
async function* splitChunks(bytes: Buffer): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += CHUNK) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    yield new Uint8Array(bytes.subarray(at, at + CHUNK));
  }
}

const readRequest = (bytes: Buffer): Request => {
  const chunks = splitChunks(bytes);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  // A request with a key is digested too, which is the most work.
  return new Request('http://a', { method: 'POST', body, headers: { 'idempotency-key': 'k' } });
};

/**
 * Objects with one member each: the allowed number of values, with names as long as the size
 * allows.
 */
function longNames(size: number, values: number, letter: string): string {
  const count = Math.floor(values / 2) - 1;
  const length = Math.max(0, Math.floor((size / count - 16) / letter.length));
  return `[${Array.from({ length: count }, (_, i) => `{"${i}${letter.repeat(length)}":0}`).join()}]`;
}

/** One object with this many names, which have `size` bytes or as many as names may have. */
function oneObject(size: number, names: number, letter: string): string {
  const length = Math.max(0, Math.floor((Math.min(size, MAX_JSON_NAME_BYTES) / names - 9) / Buffer.byteLength(letter)));
  return `{"model":"m"${Array.from({ length: names - 2 }, (_, i) => `,"${i}${letter.repeat(length)}":0`).join('')}}`;
}

const jsonTexts = (size: number, values: number, names = values): Record<string, Buffer> =>
  Object.fromEntries(
    Object.entries({
      'as many empty objects as are taken': `[${'{},'.repeat(values - 2)}0]`,
      'long names': longNames(size, values, 'a'),
      'escaped names': longNames(size, values, '\\n'),
      'names of one object': oneObject(size, names, 'a'),
      'escaped names of one object': oneObject(size, names, '\\n'),
      'names of one object in other letters': oneObject(size, names, '\\u4e00'),
      'one text': fill('a', size, { before: '"', after: '"' }),
      'one number': fill('1', size, { before: '[', after: ']' }),
      zeros: fill('0', size, { before: '[0.', after: ']' }),
      spaces: fill(' ', size, { before: '[', after: ']' }),
      'nested texts': `${'["a",'.repeat(60)}${fill('b', size - 400, { before: '"', after: '"' })}${']'.repeat(60)}`,
      'one escaped text': fill('\\n', size, { before: '"', after: '"' }),
      'one text of escaped letters': fill('\\u4e00', size, { before: '"', after: '"' }),
      'one text of three-byte letters': fill('\u4e00', Math.floor(size / 3), { before: '"', after: '"' }),
      'more empty objects than are taken': fill('{},', size, { before: '[', after: '0]' }),
      'ids that a number would round': fill('{"id":9007199254740993},', Math.min(size, 20 * values), {
        before: '[',
        after: '0]',
      }),
      backslashes: fill('\\', size, { before: '"' }),
      brackets: fill('[', size),
    }).map(([name, text]) => [name, Buffer.from(text)]),
  );

const jsonCase = (name: BodyLimitName) => {
  const limit = BODY_LIMITS[name];
  return stallCase({
    name: `JSON of a body, limit "${name}"`,
    limit: limit.maxBytes,
    worst: (size) => jsonTexts(size, limit.maxValues, 'maxNames' in limit ? limit.maxNames : undefined),
    call: async (bytes: Buffer) => {
      const body = await readJsonBody(readRequest(bytes), limit, 'maxWireBytes' in limit ? storage : undefined);
      await body.release();
    },
    limitedBy: 'the bytes, values and levels that are counted before anything is parsed',
  });
};

/** Objects as a parser accepts them, with at most as many values as a relayed body may have. */
const objects = (size: number): Record<string, string> => ({
  members: fill(`"${'a'.repeat(70)}":1,`, size, { before: '{', after: '"model":"a"}' }),
  'escaped names': fill(`"${'\\u0061'.repeat(13)}":1,`, size, { before: '{', after: '"model":"a"}' }),
  lists: fill('[],', Math.min(size, 3 * BODY_LIMITS.relay.maxValues), { before: '{"x":[', after: '0],"model":"a"}' }),
  spaces: fill(' ', size, { before: '{"model":"a"', after: '}' }),
  'one escaped text': fill('\\"', size, { before: '{"model":"a","x":"', after: '"}' }),
});

const BOUNDARY = 'b';
const part = (name: string, value: string) =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

export const bodyCases = [
  stallCase({
    name: 'JSON that is relayed with another model',
    limit: BODY_LIMITS.relay.maxBytes,
    worst: objects,
    // Pieces of objects in any order are not JSON, and may be refused.
    call: async (text: string) =>
      Promise.try(editJson, text, { model: 'b', stream_options: { include_usage: true } }).catch(() => undefined),
    limitedBy: 'the bytes of a body, counted before',
  }),
  ...(Object.keys(BODY_LIMITS) as BodyLimitName[]).map(jsonCase),
  stallCase({
    name: 'JSON with members that the relay reads, from the body to what it sends',
    limit: BODY_LIMITS.relay.maxBytes,
    worst: (size) => {
      const { maxValues, maxNames } = BODY_LIMITS.relay;
      return {
        names: oneObject(size, maxNames, 'a'),
        'escaped names': oneObject(size, maxNames, '\\n'),
        'names in other letters': oneObject(size, maxNames, '\\u4e00'),
        'names that look like others': oneObject(size, maxNames, 'ſ'),
        'names of ids': oneObject(size, maxNames, '_id').replaceAll(':0', ':null'),
        'more names than are taken': oneObject(size, maxValues, 'a'),
        'longer names than are taken': longNames(size, maxValues, 'a'),
      };
    },
    call: async (text: string) => {
      const {
        value,
        text: sent,
        release,
      } = await readJsonBody(readRequest(Buffer.from(text)), BODY_LIMITS.relay, storage);
      const request = { body: { kind: 'json', value, text: sent } } as unknown as ClientRequest;
      for (const kind of ['response', 'chat', 'video'] as const) {
        await new Promise((resolve) => setImmediate(resolve));
        readRelayRequest({ kind, requestId: '', client: request, headers: {} });
        await new Promise((resolve) => setImmediate(resolve));
        buildRelayBody(request, 'another', { stream_options: { include_usage: true } });
      }
      await release();
    },
    limitedBy: 'the names that are counted before anything is parsed',
  }),
  stallCase({
    name: 'JSON of a body with files in it',
    limit: 16 * MIB,
    worst: (size) => ({
      'one file': Buffer.from(fill('A', size, { before: '"', after: '"' })),
      'files that are just too short': Buffer.from(
        fill(`"${'A'.repeat(CHUNK - 1)}",`, size, { before: '[', after: '0]' }),
      ),
      'short files': Buffer.from(fill(`"${'A'.repeat(CHUNK)}",`, size, { before: '[', after: '0]' })),
      'escaped ends of lines': Buffer.from(fill('\\n', size, { before: '"', after: '"' })),
      'escaped slashes': Buffer.from(fill('\\/', size, { before: '"', after: '"' })),
      'letters and others in turn': Buffer.from(fill('A ', size, { before: '"', after: '"' })),
    }),
    call: (bytes: Buffer) =>
      readJsonBody(readRequest(bytes), BODY_LIMITS.submission, storage).then((body) => body.release()),
    limitedBy: 'the bytes that are read of a body',
  }),
  stallCase({
    name: 'urlencoded form',
    limit: BODY_LIMITS.submission.maxBytes,
    worst: (size) => ({
      separators: fill('&', size),
      'equals signs': fill('=', size),
      'one escaped value': fill('%20', size, { before: 'a=' }),
      'signs of escapes': fill('%', size, { before: 'a=' }),
      'plus signs': fill('+', size, { before: 'a=' }),
      'one long name': fill('a', size),
      'as many fields as are taken': fill(`${fill('%41', size / 256)}&`, size),
      'the same field': fill('a=b&', size),
    }),
    call: (text: string) => readUrlencoded(Buffer.from(text)),
    limitedBy: 'the bytes that are read of a body',
  }),
  stallCase({
    name: 'multipart form',
    limit: 4 * MIB,
    worst: (size) => ({
      'empty parts': fill(part('a', ''), size),
      'one text': part('a', fill('a', MIB)),
      'ends of lines': part('a', fill('\r\n', size)),
      'beginnings of boundaries': part('a', fill('\r\n-', size)),
      'near boundaries': part('a', fill(`\r\n--${BOUNDARY} `, size)),
      'boundaries alone': fill(`\r\n--${BOUNDARY}`, size),
      'header without end': `--${BOUNDARY}\r\n${fill('a', size)}`,
      'many headers': `--${BOUNDARY}\r\n${fill('a:b\r\n', size)}`,
      'nothing before the first part': fill('-', size),
    }),
    call: async (text: string) => {
      const bytes = Buffer.from(text);
      await new Promise((resolve) => setImmediate(resolve));
      const form = await readMultipart(splitChunks(bytes), `multipart/form-data; boundary=${BOUNDARY}`, storage);
      await form.release();
    },
    limitedBy: 'the slices in which it is read, whatever its size',
  }),
  stallCase({
    name: 'nothing but the refusal of too long a JSON body',
    limit: BODY_LIMITS.usual.maxBytes,
    worst: (size) => ({ text: Buffer.from(fill('a', size, { before: '"', after: '"' })) }),
    call: (bytes: Buffer) => readJsonBody(readRequest(bytes), BODY_LIMITS.usual),
    refuses: (answer) => answer instanceof AppError && answer.code === 'http.too_large',
  }),
];
