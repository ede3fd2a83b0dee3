import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { readConfig } from '../../src/app/config/config.ts';
import { temporaryTree } from '../support/temporary-folder.ts';

const SECRET = 'a secret of the tests, long enough';
const read = (environment: Record<string, string>) => {
  const reading = readConfig(environment);
  return reading.ok ? reading.config.cryptoSecret : reading.faults;
};

test('a secret comes from its variable, a file, a command or a credential of systemd', () => {
  const folder = temporaryTree({ secret: `${SECRET}\n`, CRYPTO_SECRET: `${SECRET}\r\n` });
  expect(read({ CRYPTO_SECRET: SECRET })).toBe(SECRET);
  expect(read({ CRYPTO_SECRET_FILE: join(folder, 'secret') })).toBe(SECRET);
  expect(read({ CRYPTO_SECRET_COMMAND: `printf '%s' '${SECRET}' | cat` })).toBe(SECRET);
  expect(read({ CREDENTIALS_DIRECTORY: folder })).toBe(SECRET);
  // The variable outranks the credential, which a unit may give for all.
  expect(read({ CREDENTIALS_DIRECTORY: folder, CRYPTO_SECRET: `${SECRET}!` })).toBe(`${SECRET}!`);
  expect(read({ CREDENTIALS_DIRECTORY: join(folder, 'none') })).toBe('');
  // What is not a secret has no other source.
  const reading = readConfig({ PORT_FILE: join(folder, 'secret') });
  expect(reading.ok && reading.config.port).toBe(3000);
});

test.each([
  [{ CRYPTO_SECRET: SECRET, CRYPTO_SECRET_FILE: '/x' }, 'CRYPTO_SECRET and CRYPTO_SECRET_FILE are set'],
  [{ CRYPTO_SECRET_FILE: '/does/not/exist' }, 'CRYPTO_SECRET_FILE: the file /does/not/exist cannot be read: ENOENT'],
  [{ CRYPTO_SECRET_FILE: '/dev/null' }, 'is empty'],
  [{ CRYPTO_SECRET_COMMAND: 'exit 3' }, 'CRYPTO_SECRET_COMMAND: the command ended with 3'],
  [{ CRYPTO_SECRET_COMMAND: 'true' }, 'the command is empty'],
  [{ CRYPTO_SECRET_COMMAND: 'echo short' }, 'CRYPTO_SECRET: read a value of 5 characters (not shown)'],
])('%j stops the start', (environment, message) => {
  const faults = read(environment as Record<string, string>);
  expect(faults).toEqual([expect.stringContaining(message)]);
  expect(JSON.stringify(faults)).not.toContain(SECRET);
});
