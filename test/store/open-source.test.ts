/** Mistyped addresses of a source: what is printed about them lands in terminals and logs. */
import { expect, test } from 'bun:test';
import { openSource, readSourceAddress } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function open(text: string): Promise<string> {
  const read = readSourceAddress(text);
  if (!read.ok) return read.error;
  const opened = await openSource(read.value);
  if (opened.ok) throw new Error(`${text} was opened`);
  return opened.error;
}

test.each([
  'root:its-password@/newapi',
  'root:its-password@unix(/run/mysqld/mysqld.sock)/newapi',
  'host=db.lan user=gate password=its-password dbname=newapi',
  'its-password@db.lan:5432',
])('an address that is none, %s, is not repeated with its password', async (text) => {
  const error = await open(text);
  expect(error).toContain('postgres://user:password@host/name');
  expect(error).not.toContain('its-password');
});

test('a path is named', async () => {
  const folder = temporaryFolder();
  expect(await open(`${folder}/one-api.db`)).toBe(`there is no file ${folder}/one-api.db`);
  expect(await open(folder)).toBe(`${folder} is not a file`);
});
