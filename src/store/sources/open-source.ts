import { existsSync, statSync } from 'node:fs';
import { err, ok, type Result } from '../../kernel/index.ts';
import type { SourceDatabase } from './read-rows.ts';

type SourceAddress = { kind: SourceDatabase['kind']; address: string };

/**
 * Reads an address: `postgres://…`, `mysql://…`, the form of Go's MySQL driver, or the path of a
 * SQLite file, with or without `sqlite:` or `file:`.
 */
export function readSourceAddress(text: string): Result<SourceAddress, string> {
  if (/^postgres(?:ql)?:\/\//i.test(text)) return checkUrl('postgres', text);
  if (/^mysql:\/\//i.test(text)) return checkUrl('mysql', text);
  const go = readGoAddress(text);
  if (go !== undefined) return checkUrl('mysql', go);
  if (/^(?!file:|sqlite:)[a-z][a-z0-9+]+:\/\//i.test(text)) {
    return err('the address must begin with postgres:// or mysql://, or be the path of a SQLite file');
  }
  const path = text.replace(/^(?:sqlite|file):(?:\/\/(?=\/))?/i, '').split('?')[0] ?? '';
  return path === '' ? err('the address is empty') : ok({ kind: 'sqlite', address: path });
}

/** What Go's driver takes, `user:password@tcp(host:3306)/name?charset=utf8mb4`, as a URL. */
function readGoAddress(text: string): string | undefined {
  const at = text.lastIndexOf('@tcp(');
  const end = text.indexOf(')/', at);
  if (at === -1 || end === -1) return undefined;
  const [user = '', ...password] = text.slice(0, at).split(':');
  const [name = ''] = text.slice(end + 2).split('?');
  const [login, secret, database] = [user, password.join(':'), name].map(encodeURIComponent);
  return `mysql://${login}:${secret}@${text.slice(at + '@tcp('.length, end)}/${database}`;
}

const checkUrl = (kind: 'postgres' | 'mysql', text: string): Result<SourceAddress, string> =>
  URL.canParse(text) && new URL(text).hostname !== ''
    ? ok({ kind, address: text })
    : err(
        `the address is no URL: ${kind}://user:password@host/database, with special characters of the password escaped`,
      );

/**
 * Opens it for reading alone. The error says why it cannot be read, without the address, which may
 * hold a password.
 */
export async function openSource({ kind, address }: SourceAddress): Promise<Result<SourceDatabase, string>> {
  try {
    if (kind !== 'sqlite') {
      const { openServerSource } = await import('./server-source.ts');
      return ok(await openServerSource(address, kind));
    }
    if (!existsSync(address)) return err(`there is no file ${address}`);
    if (!statSync(address).isFile()) return err(`${address} is not a file`);
    const { openSqliteSource } = await import('./sqlite-source.ts');
    return ok(await openSqliteSource(address));
  } catch (error) {
    return err(describeSourceError(error));
  }
}

/** Why reading failed, in words of the driver. */
export function describeSourceError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  const name = [code, errno].find((each) => typeof each === 'string' && each !== '' && !error.message.includes(each));
  return name === undefined ? error.message : `${error.message} (${name})`;
}
