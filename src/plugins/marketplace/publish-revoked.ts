import { err, isObject, type Json, ok, parseJson, type Result } from '../../kernel/index.ts';

/** Reasons by `key@version`; `null` takes an earlier revocation back. */
export type Revocations = ReadonlyMap<string, string | null>;

type Raw = { [name: string]: Json };

/** An entry of an index with the versions of it that are revoked, as they are written there. */
type RevokedEntry = { entry: Raw; versions: Raw[] };

const MAX_REASON = 300;

/** Reads a file `{"KEY@VERSION": "reason", …}`. The error is a sentence. */
export function readRevocations(text: string): Result<Revocations, string> {
  const value = parseJson(text);
  if (!isObject(value)) return err('It must be a JSON object {"KEY@VERSION": "reason"}.');
  const wrong = Object.entries(value).find(([, reason]) => reason !== null && !isReason(reason));
  if (wrong) return err(`The reason of ${wrong[0]} must be one line of 1 to ${MAX_REASON} characters, or null.`);
  return ok(new Map(Object.entries(value) as [string, string | null][]));
}

const isReason = (value: unknown): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= MAX_REASON && !/\p{Cc}/u.test(value);

const readObjects = (value: Json | undefined): Raw[] => (Array.isArray(value) ? (value.filter(isObject) as Raw[]) : []);

/** The revoked versions of an index that is there already, by plugin. */
export function revokedEntries(index: Json | undefined): Map<string, RevokedEntry> {
  const found = new Map<string, RevokedEntry>();
  for (const entry of isObject(index) ? readObjects((index as Raw).plugins) : []) {
    const versions = readObjects(entry.versions).filter(({ revoked }) => isObject(revoked));
    if (versions.length > 0) found.set(String(entry.key), { entry, versions });
  }
  return found;
}

/** The reason for which a version is revoked now: by the file, else by the index before. */
export function findReason(
  name: string,
  given: Revocations | undefined,
  before: ReadonlyMap<string, RevokedEntry>,
): string | undefined {
  const said = given?.get(name);
  if (said !== undefined) return said ?? undefined;
  const at = name.indexOf('@');
  const version = before.get(name.slice(0, at))?.versions.find((each) => each.version === name.slice(at + 1));
  const reason = isObject(version?.revoked) ? version.revoked.reason : undefined;
  return typeof reason === 'string' ? reason : undefined;
}
