import { expect, test } from 'bun:test';
import { Decrypter, Encrypter, Stanza } from 'age-encryption';
import { passphraseIdentity, passphraseRecipient } from '../../src/operations/backup/seal-secrets.ts';

const LOW = 10;

async function sealWithLibrary(passphrase: string, text: string): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  encrypter.setScryptWorkFactor(LOW);
  return encrypter.encrypt(text);
}

async function sealWithOurs(passphrase: string, text: string): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(passphraseRecipient(passphrase, LOW));
  return encrypter.encrypt(text);
}

function openWithOurs(sealed: Uint8Array, passphrase: string): Promise<string> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(passphraseIdentity(passphrase));
  return decrypter.decrypt(sealed, 'text');
}

test('age opens what is sealed here, and what age has sealed is opened here', async () => {
  const decrypter = new Decrypter();
  decrypter.addPassphrase('grüner Tee 绿茶');
  expect(await decrypter.decrypt(await sealWithOurs('grüner Tee 绿茶', 'secrets'), 'text')).toBe('secrets');
  expect(await openWithOurs(await sealWithLibrary('grüner Tee 绿茶', 'secrets'), 'grüner Tee 绿茶')).toBe('secrets');
});

test('another passphrase opens nothing', async () => {
  const sealed = await sealWithOurs('the right one', 'secrets');
  await expect(openWithOurs(sealed, 'the wrong one')).rejects.toThrow('no identity matched');
});

test('a header that asks for gigabytes of work, or is no such header, is refused before the work', async () => {
  const [stanza] = await passphraseRecipient('the right one', LOW).wrapFileKey(new Uint8Array(16));
  if (!stanza) throw new Error('no stanza');
  const [kind = '', salt = ''] = stanza.args;
  const identity = passphraseIdentity('the right one');
  const unwrap = (args: string[], body = stanza.body) => identity.unwrapFileKey([new Stanza(args, body)]);
  expect(await unwrap([kind, salt, String(LOW)])).toEqual(new Uint8Array(16));
  for (const factor of ['21', '63', '0', '-1', '1e1', ' 9', '010', 'x', '']) {
    await expect(unwrap([kind, salt, factor])).rejects.toThrow('not sealed by a passphrase');
  }
  await expect(unwrap([kind, salt.slice(2), '10'])).rejects.toThrow('not sealed by a passphrase');
  await expect(unwrap([kind, salt, '10', 'more'])).rejects.toThrow('not sealed by a passphrase');
  await expect(unwrap([kind, salt, '10'], new Uint8Array(31))).rejects.toThrow('not sealed by a passphrase');
  await expect(identity.unwrapFileKey([stanza, stanza])).rejects.toThrow('not sealed by a passphrase');
});

test('the event loop turns while a passphrase is computed', async () => {
  let hasTurned = false;
  const timer = setInterval(() => {
    hasTurned = true;
  }, 1);
  const encrypter = new Encrypter();
  encrypter.addRecipient(passphraseRecipient('a passphrase of a test', 16));
  await encrypter.encrypt('secrets');
  clearInterval(timer);
  expect(hasTurned).toBe(true);
});
