import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { OperatorError, pluralize, systemClock, unreadable, unwritable } from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import { readRevocations, type SigningKey, signIndex, writeIndex } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { openSigningKeys } from '../open-signing-key.ts';
import { describePluginFault } from '../read-plugin.ts';
import { readText, withSandbox } from '../with-sandbox.ts';

const DEFAULT_DAYS = 90;
const MAX_DAYS = 3650;

type Keys = { key: SigningKey; handOverFrom: SigningKey | undefined };
/** A file to write, and its text until now. */
type Change = { path: string; before: string | undefined; text: string };

/** Writes the index of a folder of plugins; exit 1, and nothing is written, if one has a fault. */
export async function run(input: CommandInput): Promise<ExitCode> {
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
  for (const change of changes) write(change);
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

function write({ path, before, text }: Change): void {
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
