import { rmSync, writeFileSync } from 'node:fs';
import { unwritable } from '../../../kernel/index.ts';
import { generateSigningKey, writePublicKeyFile, writeSecretKeyFile } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { askNewPassword } from '../open-signing-key.ts';

/** Writes a new key pair: NAME.key, which only its owner can read, and NAME.pub. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [name = ''] = input.positionals;
  const [secretFile, publicFile] = [`${name}.key`, `${name}.pub`];
  const password = input.values['no-password'] === true ? '' : await askNewPassword(input, secretFile);
  const key = generateSigningKey();
  const { id, text } = key.publicKey;
  write(secretFile, writeSecretKeyFile(key, password), 0o600);
  try {
    write(publicFile, writePublicKeyFile(key.publicKey), 0o644);
  } catch (error) {
    // A secret key without the public one that belongs to it would only be in the way.
    rmSync(secretFile, { force: true });
    throw error;
  }
  const lines = [
    `${secretFile}: the secret key ${id}${password === '' ? ', without a password' : ''}. Keep it off the server that publishes.`,
    `${publicFile}: the public key. Publish it where people find it without your marketplace:`,
    text,
  ];
  answer(
    input,
    { ok: true, key_id: id, public_key: text, secret_key_file: secretFile, public_key_file: publicFile },
    lines.join('\n'),
  );
  return EXIT.ok;
}

function write(path: string, text: string, mode: number): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode });
  } catch (error) {
    throw unwritable(path, error);
  }
}
