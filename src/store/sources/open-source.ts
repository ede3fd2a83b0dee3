import { Database } from 'bun:sqlite';
import { accessSync, constants, statSync } from 'node:fs';
import { err, ok, type Result, unreadable } from '../../kernel/index.ts';
import type { SourceDatabase, SourceDialect } from './read-rows.ts';
import { createSource } from './read-rows.ts';

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
        `the address is not a URL: ${kind}://user:password@host/database, with special characters of the password escaped`,
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
    const fault = findFileFault(address);
    return fault === undefined ? ok(await openSqliteSource(address)) : err(fault);
  } catch (error) {
    return err(describeSourceError(error));
  }
}

/** What only an address of a server has: it may hold a password, and is not shown. */
const SERVER = /@|\bpassword\s*=/i;

/** A folder that this user may not enter hides its files: that is not the same as no file. */
function findFileFault(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) {
      return SERVER.test(path)
        ? 'there is no such file, and an address has the form postgres://user:password@host/name, mysql://user:password@host/name or user:password@tcp(host:3306)/name'
        : `there is no file ${path}`;
    }
    if (!found.isFile()) return `${path} is not a file`;
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return unreadable(SERVER.test(path) ? 'the file' : path, error).message;
  }
}

/** Why reading failed, in words of the driver. */
export function describeSourceError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  const name = [code, errno].find((each) => typeof each === 'string' && each !== '' && !error.message.includes(each));
  return name === undefined ? error.message : `${error.message} (${name})`;
}

const DIALECT: SourceDialect = {
  kind: 'sqlite',
  quote: (name) => `"${name}"`,
  asText: (column) => `cast(${column} as text)`,
  measureBytes: (column) => `length(cast(${column} as blob))`,
};

/** Opens a file for reading. A program that is using it may go on writing. */
async function openSqliteSource(path: string): Promise<SourceDatabase> {
  const file = new Database(path, { readonly: true });
  try {
    file.run('pragma query_only = on');
    file.run('pragma busy_timeout = 5000');
    // What the file's schema holds besides tables calls no function of this process.
    file.run('pragma trusted_schema = off');
    // The first read fixes the state that all later ones see.
    file.run('begin');
    file.query('select count(*) from sqlite_master').get();
  } catch (error) {
    file.close();
    throw error;
  }
  return createSource(DIALECT, {
    run: async (text) => file.prepare(text).all() as Record<string, unknown>[],
    listColumns: async (table) =>
      (
        file
          .query(
            // No view and no virtual table: reading one runs what the file's author wrote.
            `select info.name from pragma_table_list as list, pragma_table_info(list.name) as info
              where list.schema = 'main' and list.type = 'table' and list.name = ?`,
          )
          .all(table) as { name: string }[]
      ).map(({ name }) => name),
    close: async () => file.close(),
  });
}
