import { OperatorError } from '../../kernel/index.ts';
import { unsealSecrets } from './seal-secrets.ts';
import { createDigest, decompress, digestStream, readBytes, readLines, writeNewFile } from './streams.ts';
import type { BackupLocation, Manifest, StoredPart, Unseal } from './types.ts';

const MAX_SECRETS_BYTES = 256 * 1024;
/** A digest, a space and a number. */
const MAX_LINE = 100;
const LINE = /^([0-9a-f]{64}) (\d{1,15})$/;

/** @throws `OperatorError` when the part is not there */
export async function openPart(
  { objects }: BackupLocation,
  id: string,
  { file }: StoredPart,
): Promise<ReadableStream<Uint8Array>> {
  const stream = await objects.open(`${id}/${file}`);
  if (stream) return stream;
  throw new OperatorError(`the backup ${id} lacks its file ${file}`);
}

const damaged = (id: string, file: string) =>
  new OperatorError(`the backup ${id} is damaged: ${file} is not what its manifest says`);

/**
 * Writes the SQLite database of a backup to a new file.
 * @throws `OperatorError` when it is damaged
 */
export async function unpackDatabase(
  location: BackupLocation,
  { id, database }: Manifest,
  path: string,
): Promise<void> {
  const { unpacked } = database;
  if (!unpacked) throw new OperatorError(`the backup ${id} has no SQLite database`);
  const stream = await openPart(location, id, database);
  const read = await writeNewFile(path, (write) => decompress(stream, unpacked.bytes, write)).catch((error) => {
    if (error instanceof Error && 'code' in error && /^E(NOSPC|DQUOT)/.test(String(error.code))) {
      throw new OperatorError(`the disk is full: the database needs ${Math.ceil(unpacked.bytes / 1024 / 1024)} MB`);
    }
    throw damaged(id, database.file);
  });
  if (read.packed.sha256 !== database.sha256 || read.plain.sha256 !== unpacked.sha256) throw damaged(id, database.file);
}

/** @throws `OperatorError` when the file is not what the manifest says */
export async function requirePart(location: BackupLocation, id: string, part: StoredPart): Promise<void> {
  const { sha256, bytes } = await digestStream(await openPart(location, id, part));
  if (sha256 !== part.sha256 || bytes !== part.bytes) throw damaged(id, part.file);
}

/**
 * @throws `OperatorError` when they are not in the backup, are damaged, or `unseal` does not open
 * them
 */
export async function openSecrets(location: BackupLocation, { id, secrets, database }: Manifest, unseal: Unseal) {
  if (!secrets) throw new OperatorError(`the backup ${id} was made without secrets`);
  await requirePart(location, id, secrets);
  const sealed = await readBytes(await openPart(location, id, secrets), MAX_SECRETS_BYTES);
  if (!sealed) throw damaged(id, secrets.file);
  const text = await unseal(sealed);
  if (text === undefined) {
    const what = secrets.sealed_with === 'passphrase' ? 'passphrase' : 'key';
    throw new OperatorError(`the ${what} does not open the secrets of the backup ${id}`);
  }
  const opened = unsealSecrets(text, { backup: id, database_sha256: database.sha256 });
  if (!opened) throw new OperatorError(`the secrets in the backup ${id} belong to another backup or database`);
  return opened;
}

/**
 * The kept results of a backup, in order of their digests.
 * @throws `OperatorError` when the list is damaged
 */
export async function* listResults(
  location: BackupLocation,
  { id, results }: Pick<Manifest, 'id' | 'results'>,
): AsyncGenerator<{ sha256: string; bytes: number }> {
  const digest = createDigest();
  const stream = await openPart(location, id, results);
  const hashed = async function* () {
    for await (const chunk of stream) {
      digest.add(chunk);
      yield chunk;
    }
  };
  for await (const line of readLines(hashed(), MAX_LINE)) {
    const [, sha256, bytes] = LINE.exec(line) ?? [];
    if (sha256 === undefined) throw damaged(id, results.file);
    yield { sha256, bytes: Number(bytes) };
  }
  if (digest.result().sha256 !== results.sha256) throw damaged(id, results.file);
}
