/** Forms with many tiny parts: small on the wire; parsing them once took quadratic time. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { readClientRequest } from '../../../src/http/bodies/read-client-request.ts';
import { createUploadBudget, openUploadFolder } from '../../../src/http/bodies/upload-folder.ts';
import { AppError, silentLogger } from '../../../src/kernel/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const budget = createUploadBudget({ nodeBytes: Number.POSITIVE_INFINITY, userBytes: Number.POSITIVE_INFINITY });
const uploads = openUploadFolder({ folder: join(temporaryFolder(), 'uploads'), budget, logger: silentLogger }).of(null);
const FORM = 'application/x-www-form-urlencoded';

const read = (type: string, body: string, query = '') =>
  readClientRequest(
    new Request(`http://gateway.local/v1/tasks/demo${query}`, {
      method: 'POST',
      body,
      headers: { 'content-type': type },
    }),
    {},
    { maxFileBytes: MAX_FILE_BYTES, uploads },
  );

const multipart = (count: number, disposition: string, boundary = 'b') =>
  `${`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\nx\r\n`.repeat(count)}--${boundary}--\r\n`;

const floods: [name: string, type: string, body: string][] = [
  ['one field name 400,000 times', FORM, 'a&'.repeat(400_000)],
  ['a form that names a boundary', `${FORM}; boundary=b`, 'a&'.repeat(400_000)],
  ['60,000 multipart fields', 'multipart/form-data; boundary=b', multipart(60_000, 'name="a"')],
  ['60,000 files of one field', 'multipart/form-data; boundary="b"', multipart(60_000, 'name="a"; filename="f"')],
  ['two boundaries, the first a blind', 'multipart/form-data; boundary=z; boundary=b', multipart(60_000, 'name="a"')],
  ['two boundaries, the second a blind', 'multipart/form-data; boundary=b; boundary=z', multipart(60_000, 'name="a"')],
];
test.each(floods)('form flood: %s is refused at once', async (_name, type, body) => {
  const before = process.cpuUsage();
  const refusal = await read(type, body).catch((error: unknown) => error);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  expect(refusal).toBeInstanceOf(AppError);
  expect((refusal as AppError).code).toBe('http.bad_body');
});

test('query flood: many names take linear time, and __proto__ is an ordinary name', async () => {
  const names = Array.from({ length: 40_000 }, (_, i) => i.toString(36)).join('&');
  const before = process.cpuUsage();
  const { query } = await read('application/json', '{}', `?__proto__=x&${names}&a=1&a=2`);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  expect(Object.getPrototypeOf(query)).toBe(Object.prototype);
  expect(Object.getOwnPropertyDescriptor(query, '__proto__')?.value).toEqual(['x']);
  expect(query.a).toEqual(['', '1', '2']);
});

test('the allowed numbers of fields and files are accepted', async () => {
  const body = `${multipart(256, 'name="a"').slice(0, -'--b--\r\n'.length)}${multipart(32, 'name="f"; filename="f"')}`;
  const { body: taken } = await read('multipart/form-data; boundary=b', body);
  if (taken.kind !== 'multipart') throw new Error(taken.kind);
  expect([taken.fields.a?.length, taken.files.length]).toEqual([256, 32]);
  const form = (await read(FORM, Array(256).fill('a=1').join('&'))).body;
  expect(form.kind === 'form' && form.fields.a?.length).toBe(256);
});
