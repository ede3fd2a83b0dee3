/**
 * A running gateway with its administrator, and users that the API cannot create: they have the
 * administrator's password.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { GIVE_WALLETS, insertUserSql } from '../../support/backdoor.ts';
import { PASSWORD } from '../../support/cheap-hash.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { runCommand } from '../../support/run-command.ts';
import { proofHeader } from '../../support/security-proof.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
export type Answer = { status: number; json: any; text: string; headers: Headers };
export type Send = { method?: string; token?: string; body?: unknown; headers?: Record<string, string> };

export type PanelCaller = {
  gateway: Gateway;
  /** The password of all users. */
  password: string;
  send(path: string, request?: Send): Promise<Answer>;
  /** Signs in; returns the access token, the session's id and the refresh cookie. */
  logIn(username: string): Promise<{ token: string; sid: string; cookie: string }>;
  /** A Security Proof header for security settings, created in the session of `token`. */
  prove(token: string, scope?: string): Promise<{ 'x-security-proof': string }>;
  /** Rows of the audit log with this action, the newest first. */
  audit(action: string): Promise<Record<string, unknown>[]>;
  /** Writes a user of this role directly into the database; returns the id. */
  addUser(username: string, role: number): number;
  /** Runs one statement directly on the database. */
  run(statement: string): void;
};

/** Tests write rows of long ago, which the clean-up of the night would take. */
function keepOldRows(dataDir: string): void {
  const farHour = (new Date().getUTCHours() + 12) % 24;
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run(`insert into options (key, value) values ('retention.start_hour', '${farHour}')`);
  database.close();
}

export async function openPanel(env: Record<string, string> = {}): Promise<PanelCaller> {
  const dataDir = temporaryFolder();
  const result = await runCommand(
    ['admin', 'create-root', '--username', 'root', '--password-stdin', '--data-dir', dataDir],
    { stdin: PASSWORD },
  );
  if (result.code !== 0) throw new Error(result.err);
  keepOldRows(dataDir);
  const gateway = await startGateway({ dataDir, env });

  async function send(path: string, { method, token, body, headers }: Send = {}): Promise<Answer> {
    const response = await fetch(`${gateway.url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      json: text.startsWith('{') ? JSON.parse(text) : undefined,
      headers: response.headers,
    };
  }
  const below = <T>(work: (database: Database) => T): T => {
    const database = new Database(join(dataDir, 'taskgate.db'));
    try {
      database.run('pragma busy_timeout = 5000');
      return work(database);
    } finally {
      database.close();
    }
  };
  async function logIn(username: string) {
    const answer = await send('/api/user/login', { body: { username, password: PASSWORD } });
    if (answer.status !== 200) throw new Error(`${username} could not sign in: ${answer.text}`);
    const { access_token, session } = answer.json.data;
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith('svc_refresh_'));
    return { token: String(access_token), sid: String(session.sid), cookie: cookie?.split(';')[0] ?? '' };
  }
  return {
    gateway,
    password: PASSWORD,
    send,
    logIn,
    prove: (token, scope) => proofHeader({ url: gateway.url, token, password: PASSWORD, ...(scope ? { scope } : {}) }),
    async audit(action) {
      const { token } = await logIn('root');
      const { json } = await send('/api/audit?page_size=100', { token });
      return json.data.items.filter((row: { action: string }) => row.action === action);
    },
    addUser: (username, role) =>
      below((database) => {
        const { id } = database.query(insertUserSql(username, role)).get() as { id: number };
        database.run(GIVE_WALLETS);
        return id;
      }),
    run: (statement) => below((database) => void database.run(statement)),
  };
}
