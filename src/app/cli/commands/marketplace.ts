import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { OperatorError, pluralize, systemClock, unreadable, unwritable } from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import {
  generateSigningKey,
  needsPassword,
  type PublicKey,
  parsePublicKeyFile,
  readSecretKeyFile,
  type SigningKey,
  writePublicKeyFile,
  writeSecretKeyFile,
} from '../../../plugins/index.ts';
import { checkFolder } from '../../../plugins/marketplace/check-folder.ts';
import { readRevocations } from '../../../plugins/marketplace/publish-revoked.ts';
import { signIndex } from '../../../plugins/marketplace/sign-index.ts';
import { writeIndex } from '../../../plugins/marketplace/write-index.ts';
import { askSecret } from '../ask-secret.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { describePluginFault, readText, withSandbox } from '../read-plugin.ts';

const DEFAULT_DAYS = 90;
const MAX_DAYS = 3650;

type Keys = { key: SigningKey; handOverFrom: SigningKey | undefined };
/** A file to write, and its text until now. */
type Change = { path: string; before: string | undefined; text: string };

/** Writes the index of a folder of plugins; exit 1, and nothing is written, if one has a fault. */
export async function buildMarketplace(input: CommandInput): Promise<ExitCode> {
  const [folder = ''] = input.positionals;
  const out = option(input, 'out') ?? join(folder, 'index.json');
  const days = readDays(input);
  const keys = await openKeys(input);
  const revocations = readRevoked(input);
  const now = systemClock.unix();
  const { faults, text, serial, keyBefore, ...summary } = await withSandbox(async (sandbox) => {
    try {
      const sign = keys && { publicKey: keys.key.publicKey, now, days };
      return await writeIndex({ folder, out, name: option(input, 'name'), sign, revocations }, sandbox);
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      throw unreadable(path ?? folder, error);
    }
  });
  const ok = faults.length === 0;
  const read = (ending: string) => readIfThere(`${out}${ending}`);
  const signed =
    ok && keys
      ? signIndex({ ...keys, text, file: basename(out), serial: serial ?? 0, keyBefore, now, read })
      : undefined;
  if (signed && !signed.ok) throw new OperatorError(signed.error);
  const files = [...(signed?.value ?? []), { ending: '', text }].map(({ ending, text: after }): Change => {
    const path = `${out}${ending}`;
    return { path, before: readIfThere(path), text: after };
  });
  const changes = ok ? files.filter((file) => file.text !== file.before) : [];
  for (const change of changes) writeChange(change);
  const isChanged = changes.length > 0;
  const key = keys?.key.publicKey;
  answer(
    input,
    { ok, file: out, ...summary, ...(key ? { key_id: key.id, serial } : {}), changed: isChanged, faults },
    [
      ...faults.map((fault) => describePluginFault(join(folder, fault.file), fault)),
      ok
        ? `${out}: ${pluralize(summary.plugins, 'plugin')}, ${pluralize(summary.versions, 'version')}${key ? `, signed with ${key.id}, serial ${serial}` : ''}${isChanged ? '' : ', unchanged'}`
        : `${out} was not written: ${pluralize(faults.length, 'fault')}`,
    ].join('\n'),
  );
  return ok ? EXIT.ok : EXIT.failed;
}

function readDays(input: CommandInput): number {
  const days = Number(option(input, 'days') ?? DEFAULT_DAYS);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw new UsageError(`--days must be a whole number from 1 to ${MAX_DAYS}`, 'marketplace build');
}

async function openKeys(input: CommandInput): Promise<Keys | undefined> {
  const file = option(input, 'sign');
  const old = option(input, 'hand-over');
  if (file === undefined) {
    if (old === undefined) return undefined;
    throw new UsageError('--hand-over needs --sign with the file of the new key', 'marketplace build');
  }
  const [key, handOverFrom] = await openSigningKeys(input, [file, ...(old === undefined ? [] : [old])]);
  return key && { key, handOverFrom };
}

function readRevoked(input: CommandInput) {
  const file = option(input, 'revoked');
  if (file === undefined) return undefined;
  const revocations = readRevocations(readText(file));
  if (!revocations.ok) throw new OperatorError(`${file}: ${revocations.error}`);
  return revocations.value;
}

const readIfThere = (path: string): string | undefined => (existsSync(path) ? readText(path) : undefined);

function writeChange({ path, before, text }: Change): void {
  if (before !== undefined) {
    if (!replaceFile(path, before, text))
      throw new OperatorError(`${path} was changed while this ran: run the command again`);
    return;
  }
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Compares the index of a folder with its files; exit 1 if there is a fault. */
export async function checkMarketplace(input: CommandInput): Promise<ExitCode> {
  const [folder = ''] = input.positionals;
  const signed = { publicKey: readKey(input), now: systemClock.unix() };
  const { faults, ...summary } = await withSandbox((sandbox) => checkFolder(folder, sandbox, signed));
  const ok = faults.length === 0;
  const file = join(folder, 'index.json');
  const size = `${pluralize(summary.plugins, 'plugin')}, ${pluralize(summary.versions, 'version')}`;
  answer(
    input,
    { ok, file, ...summary, faults },
    [
      ...faults.map((fault) => describePluginFault(join(folder, fault.file), fault)),
      `${file}: ${size}, ${ok ? 'no faults' : pluralize(faults.length, 'fault')}`,
    ].join('\n'),
  );
  return ok ? EXIT.ok : EXIT.failed;
}

/** A public key, given itself or as its file. */
function readKey(input: CommandInput): PublicKey | undefined {
  const given = option(input, 'public-key');
  if (given === undefined) return undefined;
  const key = parsePublicKeyFile(given) ?? parsePublicKeyFile(readText(given));
  if (!key) throw new OperatorError(`${given} is neither a public key of minisign nor the file of one`);
  return key;
}

/** Writes a new key pair: NAME.key, which only its owner can read, and NAME.pub. */
export async function createMarketplaceKeys(input: CommandInput): Promise<ExitCode> {
  const [name = ''] = input.positionals;
  const [secretFile, publicFile] = [`${name}.key`, `${name}.pub`];
  const password = input.values['no-password'] === true ? '' : await askNewPassword(input, secretFile);
  const key = generateSigningKey();
  const { id, text } = key.publicKey;
  writeNew(secretFile, writeSecretKeyFile(key, password), 0o600);
  try {
    writeNew(publicFile, writePublicKeyFile(key.publicKey), 0o644);
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

function writeNew(path: string, text: string, mode: number): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode });
  } catch (error) {
    throw unwritable(path, error);
  }
}

const FAULTS = {
  format: 'is not the file of a secret key of minisign',
  password: 'has another password',
  too_costly: 'asks for more memory than 1 GiB to try a password',
} as const;

/**
 * Opens the files of secret keys. Passwords are asked at the terminal; without one they are the
 * lines of standard input, in the order of the files that need one.
 */
async function openSigningKeys(input: CommandInput, files: readonly string[]): Promise<SigningKey[]> {
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
async function askNewPassword(input: CommandInput, what: string): Promise<string> {
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
