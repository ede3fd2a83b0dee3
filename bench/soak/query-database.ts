import { SQL } from 'bun';

/** The rows of one query over a connection of its own. */
export async function query<T>(databaseUrl: string, text: string): Promise<T[]> {
  const sql = new SQL({ url: databaseUrl, max: 1 });
  try {
    return [...((await sql.unsafe(text)) as T[])];
  } finally {
    await sql.close();
  }
}

/** An empty database of this name on the server. */
export async function makeDatabase(serverUrl: string, name: string): Promise<string> {
  await query(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
