import { OperatorError } from '../../kernel/index.ts';
import { needsPassword, readSecretKeyFile, type SigningKey } from '../../plugins/index.ts';
import { askSecret } from './ask-secret.ts';
import type { CommandInput } from './command.ts';
import { readText } from './with-sandbox.ts';

const FAULTS = {
  format: 'is not the file of a secret key of minisign',
  password: 'has another password',
  too_costly: 'asks for more memory than 1 GiB to try a password',
} as const;

/**
 * Opens the files of secret keys. Passwords are asked at the terminal; without one they are the
 * lines of standard input, in the order of the files that need one.
 */
export async function openSigningKeys(input: CommandInput, files: readonly string[]): Promise<SigningKey[]> {
  let lines: string[] | undefined;
  const keys: SigningKey[] = [];
  for (const file of files) {
    const text = readText(file);
    let password: string | undefined = '';
    if (needsPassword(text)) {
      password = await askSecret(`Password of ${file}: `);
      lines ??= password === undefined ? (await input.io.readStdin()).split(/\r?\n/) : [];
      password ??= lines.shift();
      if (!password) throw new OperatorError(`${file} needs its password, at the terminal or on standard input`);
    }
    const key = readSecretKeyFile(text, password);
    if (!key.ok) throw new OperatorError(`${file} ${FAULTS[key.error]}`);
    keys.push(key.value);
  }
  return keys;
}

/** A new password, asked twice at the terminal, or the first line of standard input. */
export async function askNewPassword(input: CommandInput, what: string): Promise<string> {
  const first = await askSecret(`New password of ${what}: `);
  if (first !== undefined && first !== '') {
    if ((await askSecret('Again: ')) !== first) throw new OperatorError('the passwords do not match');
    return first;
  }
  const [line = ''] = first === undefined ? (await input.io.readStdin()).split(/\r?\n/) : [];
  if (line === '') {
    throw new OperatorError(
      'no password: enter one, send it on standard input, or write the key without one by --no-password',
    );
  }
  return line;
}
