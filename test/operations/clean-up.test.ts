import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { startCleanUp } from '../../src/operations/retention/clean-up.ts';
import { recordingLogger } from '../http/kit-harness.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { runBeside } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

describe('the schedule', () => {
  /** A clock whose sleeps end when the test says so. */
  function sleepingClock() {
    const sleeps: { ms: number; end(): void }[] = [];
    const sleep = (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        sleeps.push({ ms, end: resolve });
        if (signal?.aborted) resolve();
        signal?.addEventListener('abort', () => resolve());
      });
    return { clock: { ...systemClock, sleep }, sleeps };
  }

  test('runs a second after the start, then hourly, failed runs included', async () => {
    const { clock, sleeps } = sleepingClock();
    const { logger, lines } = recordingLogger();
    let runs = 0;
    const cleanUp = {
      async run() {
        runs += 1;
        if (runs === 2) throw new Error('the database is unavailable');
      },
    };
    const cleaning = startCleanUp({ cleanUp, clock, logger });
    expect([runs, sleeps.map(({ ms }) => ms)]).toEqual([0, [1000]]);
    for (const run of [1, 2, 3]) {
      sleeps.at(-1)?.end();
      await until(() => sleeps.length === run + 1);
      expect([runs, sleeps.at(-1)?.ms]).toEqual([run, 3_600_000]);
    }
    expect(lines.map(({ level }) => level)).toEqual(['warn']);
    await cleaning.stop();
    expect(runs).toBe(3);
  });

  test('a stop aborts the current run, waits for it, and starts no further one', async () => {
    const { clock, sleeps } = sleepingClock();
    let signal: AbortSignal | undefined;
    let finish = () => {};
    let runs = 0;
    const cleanUp = {
      run(given?: AbortSignal) {
        runs += 1;
        signal = given;
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
    };
    const cleaning = startCleanUp({ cleanUp, clock, logger: silentLogger });
    sleeps[0]?.end();
    await until(() => runs === 1);
    let stopped = false;
    const stopping = cleaning.stop().then(() => {
      stopped = true;
    });
    expect(signal?.aborted).toBe(true);
    await Bun.sleep(1);
    expect(stopped).toBe(false);
    finish();
    await stopping;
    expect(runs).toBe(1);
  });
});

describe('on a running gateway', () => {
  const ROOT = ['admin', 'create-root', '--username', 'root', '--password-stdin'];
  const DAY = 86_400;
  const now = Math.floor(Date.now() / 1000);

  const running: Gateway[] = [];
  const start = async ({ env, ...options }: GatewayOptions) => {
    const gateway = await startGateway({ ...options, env: { LOG_LEVEL: 'debug', ...env } });
    running.push(gateway);
    return gateway;
  };
  afterEach(async () => {
    for (const gateway of running.splice(0)) await gateway.kill();
  });

  /**
   * 1100 expired sessions, one that was revoked three days ago, one of now that is over, and 600
   * flows that have ended.
   */
  const FILL = [
    fillSessions('expired', 1100, `'active', 0, ${now - 40 * DAY}, ${now - 10 * DAY}`),
    fillSessions('revoked', 1, `'revoked', ${now - 3 * DAY}, ${now - 9 * DAY}, ${now + DAY}`),
    fillSessions('counts', 1, `'active', 0, ${now}, ${now - 1}`),
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 600)
     insert into auth_flows (token_hash, purpose, created_at, expires_at)
     select 'flow-' || i, 'oauth', ${now - 3 * DAY}, ${now - 2 * DAY} from n`,
  ];
  function fillSessions(name: string, count: number, values: string): string {
    return `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into user_sessions (sid, user_id, user_auth_version, refresh_hash, login_method, ip, user_agent, last_active_at,
        status, revoked_at, created_at, expires_at)
      select '${name}-' || i, 1, 1, 'h', 'password', '', '', 0, ${values} from n`;
  }
  const SESSIONS = 'select sid from user_sessions order by sid';
  const FLOWS = 'select token_hash from auth_flows';

  async function fillSqlite(): Promise<{ dataDir: string; column(question: string): string[] }> {
    const dataDir = temporaryFolder();
    await runBeside({ dataDir, databaseUrl: '' }, ROOT, { stdin: 'correct horse battery' });
    const file = join(dataDir, 'taskgate.db');
    const database = new Database(file);
    for (const statement of FILL) database.run(statement);
    database.close();
    return {
      dataDir,
      column(question) {
        const reading = new Database(file, { readonly: true });
        try {
          return reading.query(question).values().flat().map(String);
        } finally {
          reading.close();
        }
      },
    };
  }

  test('a master cleans up by itself with its retention and logs the counts', async () => {
    const { dataDir, column } = await fillSqlite();
    const gateway = await start({ dataDir, env: { USER_SESSION_REVOKED_RETENTION_DAYS: '4' } });
    await gateway.logged('cleaned up');
    expect(column(SESSIONS)).toEqual(['counts-1', 'revoked-1']);
    expect(column(FLOWS)).toEqual([]);
    expect(gateway.log()).toContain('"deleted":{"expired sessions":1100,"flows":600}');
    // The clean-up did not delay the start.
    expect(gateway.log().indexOf('"msg":"ready"')).toBeLessThan(gateway.log().indexOf('cleaned up'));
    expect(await gateway.stop()).toBe(0);
    expect(gateway.log()).toContain('"step":"clean-up"');

    const next = await start({ dataDir, env: { USER_SESSION_REVOKED_RETENTION_DAYS: '2' } });
    await next.logged('cleaned up');
    expect(column(SESSIONS)).toEqual(['counts-1']);
    expect(await next.stop()).toBe(0);
  });

  test('the alert about issuance is one log line', async () => {
    const { dataDir } = await fillSqlite();
    const gateway = await start({ dataDir, env: { USER_SESSION_HOURLY_ALERT_THRESHOLD: '1' } });
    await gateway.logged('cleaned up');
    expect(gateway.log()).not.toContain('unusually many sessions');
    expect(await gateway.stop()).toBe(0);

    const database = new Database(join(dataDir, 'taskgate.db'));
    database.run(fillSessions('more', 1, `'active', 0, ${now}, ${now + DAY}`));
    database.close();
    const next = await start({ dataDir, env: { USER_SESSION_HOURLY_ALERT_THRESHOLD: '1' } });
    await next.logged('unusually many sessions');
    expect(await next.stop()).toBe(0);
    const alerts = next
      .log()
      .split('\n')
      .filter((line) => line.includes('unusually many sessions'));
    expect(alerts.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', sessions: 2, threshold: 1 }]);
  });

  test('a worker never cleans up', async () => {
    const { dataDir, column } = await fillSqlite();
    const worker = await start({ dataDir, env: { NODE_ROLE: 'worker' } });
    expect(await worker.stop()).toBe(0);
    expect(worker.log()).toContain('"step":"listeners"');
    expect(worker.log()).not.toContain('"step":"clean-up"');
    expect(column(SESSIONS)).toHaveLength(1102);
  });

  test('two masters on one database delete each row once', async () => {
    const databaseUrl = await migratedDatabaseUrl();
    await runBeside({ dataDir: temporaryFolder(), databaseUrl }, ROOT, { stdin: 'correct horse battery' });
    const database = new SQL(databaseUrl, { max: 1 });
    try {
      for (const statement of FILL) await database.unsafe(statement);
      const gateways = await Promise.all([start({ databaseUrl }), start({ databaseUrl })]);
      await until(async () => (await database.unsafe(`${SESSIONS} limit 3`)).length === 2);
      await until(async () => (await database.unsafe(FLOWS)).length === 0);
      for (const gateway of gateways) expect(await gateway.stop()).toBe(0);
      const done = gateways.flatMap((gateway) =>
        gateway
          .log()
          .split('\n')
          .filter((line) => line.includes('cleaned up'))
          .map((line) => Number(JSON.parse(line).deleted['expired sessions'] ?? 0)),
      );
      expect(done.reduce((sum, deleted) => sum + deleted, 0)).toBe(1100);
      for (const gateway of gateways) expect(gateway.log()).not.toContain('"level":"error"');
    } finally {
      await database.close();
    }
  });
});
