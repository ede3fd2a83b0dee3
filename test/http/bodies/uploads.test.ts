/**
 * Multipart bodies over a real connection: what is read, what is refused, and that no file outlives
 * its request.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Elysia } from 'elysia';
import { readClientRequest } from '../../../src/http/bodies/read-client-request.ts';
import { createUploadBudget, openUploadFolder, type UploadFolder } from '../../../src/http/bodies/upload-folder.ts';
import { type Listening, listen } from '../../../src/http/pipeline/listen.ts';
import { silentLogger } from '../../../src/kernel/index.ts';
import type { ClientRequest } from '../../../src/tasks/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';
import { openKit } from '../kit-harness.ts';

const MIB = 1024 * 1024;
const CAP = 2 * MIB;
const folder = join(temporaryFolder(), 'uploads');
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/**
 * A budget of one file of the largest size and a little more per user, and of two such files per
 * node.
 */
const USER_BYTES = CAP + MIB;
const budget = createUploadBudget({ userBytes: USER_BYTES, nodeBytes: 2 * CAP });

let server: Listening;
let uploads: UploadFolder;
/** A header names the user whose files they are. */
const readUser = ({ headers }: Request) => Number(headers.get('x-user') ?? 1);
/** What the route does with the request after reading it. */
let work: (client: ClientRequest) => Promise<unknown> = async () => ({});

beforeAll(() => {
  uploads = openUploadFolder({ folder, budget, logger: silentLogger });
  const app = openKit({
    routes: (kit) =>
      new Elysia().use(kit).post(
        '/v1/files',
        async ({ request }) => {
          const client = await readClientRequest(
            request,
            {},
            {
              uploads: uploads.of(readUser(request)),
              maxFileBytes: CAP,
            },
          );
          try {
            return await work(client);
          } finally {
            await client.release();
          }
        },
        { apiKey: true, bodyLimit: 'submission' },
      ) as never,
  });
  server = listen(app.handle, { host: '127.0.0.1', port: 0 });
});
afterAll(() => server.stop(0));
beforeEach(() => {
  work = describeRequest;
});

async function describeRequest({ body, digests }: ClientRequest): Promise<unknown> {
  const bodySha256 = digests?.raw;
  if (body.kind !== 'multipart') return { body, bodySha256 };
  const files = [];
  for (const { stream, ...file } of body.files) {
    const hash = createHash('sha256');
    for await (const chunk of stream()) hash.update(chunk);
    files.push({ ...file, sha256: hash.digest('hex') });
  }
  return { fields: body.fields, files, bodySha256 };
}

const send = (body: BodyInit, type = 'multipart/form-data; boundary=b') =>
  fetch(`${server.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-good', 'content-type': type, 'idempotency-key': 'k' },
    body,
  });

/**
 * Open files of this process below the folder, by their descriptors; `/proc` marks deleted ones.
 */
const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(folder) ? [`/proc/self/fd/${descriptor}`] : [];
    } catch {
      return [];
    }
  });

const expectNothingLeft = async () => {
  await until('every temporary file is closed', () => openFiles().length === 0);
  expect(readdirSync(folder)).toEqual([]);
};

const part = (headers: string, content: string) => `--b\r\n${headers}\r\n\r\n${content}\r\n`;
const named = (parameters: string, content = 'x', more = '') =>
  part(`Content-Disposition: form-data; ${parameters}${more}`, content);
const END = '--b--\r\n';

describe('what is read', () => {
  const rows: [name: string, body: string, expected: object][] = [
    ['nothing', END, { fields: {}, files: [] }],
    [
      'texts in their order, one name several times',
      `${named('name="a"', '1')}${named('name="b"', 'ü\r\n--c')}${named('name=a', '')}${END}`,
      { fields: { a: ['1', ''], b: ['ü\r\n--c'] }, files: [] },
    ],
    [
      'text before and behind the form',
      `before\r\n${named('name="a"', '1')}--b--\r\nbehind\r\n--b\r\n`,
      { fields: { a: ['1'] }, files: [] },
    ],
    ['no line break at the end', `${named('name="a"', '1')}--b--`, { fields: { a: ['1'] }, files: [] }],
    ['a name that is a trap', `${named('name="__proto__"', '1')}${END}`, { fields: { ['__proto__']: ['1'] } }],
    ...(
      [
        ['as sent', 'filename="x.png"', 'x.png'],
        ['without quotes', 'filename=x.png', 'x.png'],
        ['empty, as browsers send it', 'filename=""', ''],
        ['in UTF-8', 'filename="картинка 1.png"', 'картинка 1.png'],
        ['escaped as browsers do', 'filename="a%22b%0D%0A.png"', 'a"b\r\n.png'],
        ['escaped as mail programs do', 'filename="a\\"b\\\\c.png"', 'a"b\\c.png'],
        ['with a path of Windows', 'filename="C:\\dir\\x.png"', 'C:\\dir\\x.png'],
        ['encoded as older libraries do', "filename*=UTF-8''%D1%8F%20x.png", 'я x.png'],
        ['with a semicolon', 'filename="a;b=c.png"', 'a;b=c.png'],
        ['of 255 bytes', `filename="${'n'.repeat(255)}"`, 'n'.repeat(255)],
      ] as const
    ).map(([name, parameter, filename]): [string, string, object] => [
      `a file name ${name}`,
      `${named(`name="f"; ${parameter}`, 'bytes')}${END}`,
      {
        fields: {},
        files: [{ ref: 'request_file:f', field: 'f', filename, mimeType: '', size: 5, sha256: sha256('bytes') }],
      },
    ]),
    ...(
      [
        ['none', '', ''],
        ['what the name says otherwise', '\r\nContent-Type: image/webp', 'image/webp'],
        [
          'parameters and capitals',
          '\r\ncontent-type: Image/SVG+xml; charset="UTF-8"',
          'Image/SVG+xml; charset="UTF-8"',
        ],
        ['what is not a type', '\r\nContent-Type: whatever', 'whatever'],
      ] as const
    ).map(([name, header, mimeType]): [string, string, object] => [
      `the type of a file as sent: ${name}`,
      `${named('name="f"; filename="x.png"', '', header)}${END}`,
      { files: [{ mimeType, size: 0, sha256: sha256('') }] },
    ]),
    [
      'one field with several files',
      `${['1', '22', '333'].map((text) => named('name="f"; filename="x"', text)).join('')}${END}`,
      {
        files: [
          { ref: 'request_file:f', size: 1 },
          { ref: 'request_file:f#1', size: 2 },
          { ref: 'request_file:f#2', size: 3 },
        ],
      },
    ],
  ];
  test.each(rows)('%s', async (_name, body, expected) => {
    const response = await send(body);
    const answer = await response.json();
    expect([response.status, answer]).toMatchObject([200, { ...expected, bodySha256: sha256(body) }]);
    const trap = Object.getOwnPropertyDescriptor((expected as { fields?: object }).fields ?? {}, '__proto__');
    if (trap) expect(Object.getOwnPropertyDescriptor(answer.fields, '__proto__')?.value).toEqual(trap.value);
  });

  test('the hash of JSON, of a form and of an empty body', async () => {
    for (const [type, body] of [
      ['application/json', '{ "model": "ü" }'],
      ['application/x-www-form-urlencoded', '?a=%C3%BC&b=1+2&a='],
      ['', ''],
    ] as const) {
      expect(await (await send(body, type)).json()).toMatchObject({ bodySha256: sha256(body) });
    }
    expect(await (await send('?a=%C3%BC&b=1+2&a=', 'application/x-www-form-urlencoded')).json()).toMatchObject({
      body: { kind: 'form', fields: { '?a': ['ü'], b: ['1 2'], a: [''] } },
    });
  });

  test('partial delimiters inside files, split at every position', async () => {
    const contents = ['\r', '\r\n', '\r\n-', '\r\n--', '\r\r\n--', '\r\n--a', '-b--', '\r\n\r\n--\r\nb', '\n--b', ''];
    const text = contents.map((content, i) => named(`name="f${i}"; filename="f"`, content)).join('') + END;
    const bytes = Buffer.from(text);
    for (const size of [1, 2, 3, 5, 7, 16, 61, 64, 500]) {
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          for (let at = 0; at < bytes.length; at += size)
            controller.enqueue(new Uint8Array(bytes.subarray(at, at + size)));
          controller.close();
        },
      });
      const { files, bodySha256 } = (await (await send(body)).json()) as {
        files: { sha256: string }[];
        bodySha256: string;
      };
      expect([files.map((file) => file.sha256), bodySha256]).toEqual([contents.map(sha256), sha256(bytes)]);
    }
  });

  test('files around the memory limit, and the largest one, can be read twice', async () => {
    for (const size of [64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 128 * 1024, CAP]) {
      const content = Buffer.alloc(size, 'content-');
      work = async (client) => [await describeRequest(client), await describeRequest(client)];
      const form = new FormData();
      form.set('f', new File([content], 'f.bin', { type: 'video/mp4' }));
      const response = await fetch(`${server.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-good' },
        body: form,
      });
      const file = { size, sha256: sha256(content), mimeType: 'video/mp4', filename: 'f.bin' };
      expect(await response.json()).toMatchObject([{ files: [file] }, { files: [file] }]);
    }
    await expectNothingLeft();
  });
});

describe('what is refused', () => {
  const file = 'name="f"; filename="x"';
  const rows: [name: string, body: string | Uint8Array, status: number, code: string, says: string][] = [
    ['no end', named('name="a"'), 400, 'bad_body', 'broken'],
    ['a part cut off in its header', `${named('name="a"')}--b\r\nContent-Dis`, 400, 'bad_body', 'broken'],
    ['a part cut off in its content', `${named(file, 'x'.repeat(200_000)).slice(0, -9)}`, 400, 'bad_body', 'broken'],
    ['no form', '{"model":"m"}', 400, 'bad_body', 'broken'],
    ['a part without header', `--b\r\n\r\nx\r\n${END}`, 400, 'bad_body', 'Content-Disposition'],
    [
      'a part that is not form data',
      `${part('Content-Disposition: attachment', 'x')}${END}`,
      400,
      'bad_body',
      'form-data',
    ],
    ['a part without name', `${named('filename="x"')}${END}`, 400, 'bad_body', 'no name'],
    ['an empty name', `${named('name=""')}${END}`, 400, 'bad_body', 'empty or longer'],
    ['a name of 257 bytes', `${named(`name="${'n'.repeat(257)}"`)}${END}`, 400, 'bad_body', '256 bytes'],
    ['two names', `${named('name="a"; name="b"')}${END}`, 400, 'bad_body', 'Content-Disposition'],
    ['a quote that does not end', `${named('name="a')}${END}`, 400, 'bad_body', 'Content-Disposition'],
    [
      'two dispositions',
      `${part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"', 'x')}${END}`,
      400,
      'bad_body',
      'more than one content-disposition',
    ],
    [
      'a file name of 256 bytes',
      `${named(`name="f"; filename="${'n'.repeat(256)}"`)}${END}`,
      400,
      'bad_body',
      '255 bytes',
    ],
    ['a name in Latin-1', Buffer.from(`${named('name="\xfc"')}${END}`, 'latin1'), 400, 'bad_body', 'UTF-8'],
    ['a value in Latin-1', Buffer.from(`${named('name="a"', '\xfc')}${END}`, 'latin1'), 400, 'bad_body', 'UTF-8'],
    ['a file name in UTF-16', `${named('name="f"; filename*=UTF-16\'\'x')}${END}`, 400, 'bad_body', 'UTF-8'],
    [
      'a type that smuggles',
      `${named(file, 'x', '\r\nContent-Type: image/png\x01')}${END}`,
      400,
      'bad_body',
      'Content-Type',
    ],
    [
      'a form within the form',
      `${named(file, 'x', '\r\nContent-Type: multipart/mixed; boundary=c')}${END}`,
      400,
      'bad_body',
      'multipart itself',
    ],
    [
      'an encoded part',
      `${named(file, 'eA==', '\r\nContent-Transfer-Encoding: base64')}${END}`,
      415,
      'unsupported_media',
      'Content-Transfer-Encoding',
    ],
    ['a header without end', `--b\r\nX: ${'x'.repeat(100_000)}\r\n\r\nx\r\n${END}`, 400, 'bad_body', 'too long'],
    ['257 fields', `${named('name="a"').repeat(257)}${END}`, 400, 'bad_body', '256 fields'],
    ['33 files', `${named(file).repeat(33)}${END}`, 400, 'bad_body', '32 files'],
    ['a value above 1 MiB', `${named('name="a"', 'x'.repeat(MIB + 1))}${END}`, 413, 'too_large', '"a"'],
    ['a file above the cap', `${named(file, 'x'.repeat(CAP + 1))}${END}`, 413, 'too_large', '"f"'],
    ['files above four caps together', `${named(file, 'x'.repeat(CAP)).repeat(5)}${END}`, 413, 'too_large', '9 MB'],
  ];
  test.each(rows)('%s', async (_name, body, status, code, says) => {
    const response = await send(body as BodyInit);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code]).toEqual([status, code]);
    expect(error.message).toContain(says);
  });

  test.each([
    ['without boundary', 'multipart/form-data'],
    ['with an empty one', 'multipart/form-data; boundary='],
    ['with one too long', `multipart/form-data; boundary=${'b'.repeat(300)}`],
    ['with two', 'multipart/form-data; boundary=b; boundary=c'],
  ])('a form %s', async (_name, type) => {
    const response = await send(END, type);
    const { error } = (await response.json()) as { error: { code: string } };
    expect([response.status, error.code]).toEqual([400, 'bad_body']);
  });

  test('refused requests leave no file', expectNothingLeft);
});

describe('temporary files', () => {
  const large = (end = END) => `${named('name="f"; filename="x"', 'x'.repeat(300_000))}${end}`;

  test('have no name, are readable by the gateway only, and go with the request', async () => {
    work = async () => ({ names: readdirSync(folder), modes: openFiles().map((path) => statSync(path).mode & 0o777) });
    expect(await (await send(large())).json()).toEqual({ names: [], modes: [0o600] });
    await expectNothingLeft();
  });

  test('go with a failed request', async () => {
    work = async () => {
      throw new Error('the submission failed');
    };
    expect((await send(large())).status).toBe(500);
    await expectNothingLeft();
  });

  test('go when the client leaves in the middle of the body', async () => {
    const clients = Array.from({ length: 5 }, () => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(
        `POST /v1/files HTTP/1.1\r\nHost: localhost:1234\r\nAuthorization: Bearer sk-good\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n${large('')}`,
      );
      return socket;
    });
    await until('all files have begun', () => openFiles().length === 5);
    for (const client of clients) client.destroy();
    await expectNothingLeft();
  });

  test('that cannot be written are 503, and the next request works', async () => {
    const blocked = join(temporaryFolder(), 'blocked');
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void lines.push(message) };
    writeFileSync(blocked, 'a file where the folder should be');
    const blockedUploads = openUploadFolder({ folder: blocked, budget, logger });
    expect(lines.join()).toContain('cannot write to the upload folder');
    const read = (body: string) =>
      readClientRequest(
        new Request('http://gateway.local/v1/videos', {
          method: 'POST',
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
          body,
        }),
        {},
        { uploads: blockedUploads.of(1), maxFileBytes: CAP },
      );
    const refusal = await read(large()).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'http.upload_storage', kind: 'unavailable', retryAfterSeconds: 60 });
    const small = await read(`${named('name="f"; filename="x"', 'small')}${END}`);
    expect(small.body).toMatchObject({ kind: 'multipart', files: [{ size: 5 }] });
  });

  test('denial of service: neither one user’s files nor those of all users fill the disk', async () => {
    const held: (() => void)[] = [];
    work = async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return {};
    };
    const begin = (user: number, size: number) =>
      fetch(`${server.url}/v1/files`, {
        method: 'POST',
        headers: {
          authorization: 'Bearer sk-good',
          'content-type': 'multipart/form-data; boundary=b',
          'x-user': `${user}`,
        },
        body: `${named('name="f"; filename="x"', 'x'.repeat(size))}${END}`,
      });
    const refusal = async (response: Response) => {
      const { error } = (await response.json()) as { error: { code: string } };
      return [response.status, error.code, response.headers.get('retry-after')];
    };
    const first = begin(1, CAP);
    await until('the first is read', () => held.length === 1);
    expect(await refusal(await begin(1, CAP))).toEqual([429, 'uploads_limited', '5']);
    const second = begin(2, MIB);
    await until('another user’s is read', () => held.length === 2);
    // The user’s own budget would be enough.
    expect(await refusal(await begin(3, MIB + MIB / 2))).toEqual([503, 'upload_storage', '60']);
    // A file that fits into memory needs no disk.
    const small = begin(1, 1000);
    await until('a small one is read', () => held.length === 3);
    for (const go of held.splice(0)) go();
    expect((await Promise.all([first, second, small])).map(({ status }) => status)).toEqual([200, 200, 200]);
    // Refused and finished requests have released their budget.
    work = async () => ({});
    for (let round = 0; round < 3; round += 1) expect((await begin(1, CAP)).status).toBe(200);
    expect((await begin(3, CAP)).status).toBe(200);
    await expectNothingLeft();
  });

  test('a start removes only files that an earlier process left', () => {
    const used = join(temporaryFolder(), 'uploads');
    mkdirSync(used);
    for (const name of ['abc.part', 'notes.txt']) writeFileSync(join(used, name), 'x');
    openUploadFolder({ folder: used, budget, logger: silentLogger });
    expect(readdirSync(used)).toEqual(['notes.txt']);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('a removed folder is created again', async () => {
    const tidied = join(temporaryFolder(), 'a', 'uploads');
    const tidiedUploads = openUploadFolder({ folder: tidied, budget, logger: silentLogger });
    rmSync(tidied, { recursive: true });
    const writer = tidiedUploads.of(1).begin();
    await writer.write(new Uint8Array(200_000).fill(7));
    const { size, stream } = await writer.end();
    let sum = 0;
    for await (const chunk of stream()) for (const byte of chunk) sum += byte;
    await writer.remove();
    expect([size, sum]).toEqual([200_000, 1_400_000]);
  });
});
