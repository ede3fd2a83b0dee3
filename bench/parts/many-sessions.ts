import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setUp } from '../../test/support/gateway.ts';
import { type Figure, higher, lower, percentile, row } from '../figures.ts';
import { formatRequest, type HttpAnswer, sendOverConnections } from '../load/http-client.ts';
import { CONNECTIONS } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { cpuSeconds, readMemory } from '../read-processes.ts';
import { startBuild } from '../stage.ts';
import { logIn, NO_LIMITS } from './requests.ts';

const SESSIONS_A_SECOND = 1_000;
/** How many times longer than a rate this is measured: growth shows late. */
const LENGTH = 12;
const SAMPLE_MS = 500;
/** Growth of the second half of the run. */
const AIM_MB = 10;

/**
 * A thousand sessions a second, each met for the first time: it rotates its refresh token and reads
 * its account once. Memory must not grow with the sessions that went by.
 */
export async function benchManySessions({ build, seconds }: Run): Promise<Figure[]> {
  const duration = seconds * LENGTH;
  const first = await startBuild(build, { env: NO_LIMITS });
  let sessions: string[];
  try {
    await setUp(first);
    const cookie = await logIn(first.url);
    await first.stop();
    sessions = copySession(first.dataDir, cookie, duration * SESSIONS_A_SECOND);
  } finally {
    await first.stop();
  }
  const gateway = await startBuild(build, { env: NO_LIMITS, dataDir: first.dataDir });
  const samples: number[] = [];
  const sampling = setInterval(() => samples.push(readMemory(gateway.pid).rssMb), SAMPLE_MS);
  try {
    const cpuBefore = cpuSeconds(gateway.pid);
    const { times, took } = await sendOverConnections({
      port: gateway.port,
      connections: CONNECTIONS,
      seconds: duration,
      ...alternate(sessions),
    });
    const half = samples.slice(samples.length / 4, samples.length / 2);
    const end = samples.slice((samples.length * 3) / 4);
    const [early, late] = [percentile(half, 0.5), percentile(end, 0.5)];
    return row(
      `${SESSIONS_A_SECOND.toLocaleString('en')} new sessions a second for ${duration} s`,
      [
        higher('sessions', times.length / 2 / took, '/s'),
        lower('p99 of a request', percentile([...times], 0.99), 'ms'),
        lower('processor', (cpuSeconds(gateway.pid) - cpuBefore) / took, 'cores'),
        lower('RSS', late, 'MB'),
        lower('growth in the second half', late - early, 'MB'),
      ],
      { 'growth in the second half': AIM_MB },
    );
  } finally {
    clearInterval(sampling);
    await gateway.stop();
  }
}

/** Each connection refreshes the next session, then reads its account, at the wanted pace. */
function alternate(sessions: string[]): {
  next: (client: number) => string;
  take: (answer: HttpAnswer, client: number) => void;
  pauseMs: () => number;
} {
  const tokens = new Map<number, string>();
  const begun = performance.now();
  let started = 0;
  return {
    next: (client) => {
      const token = tokens.get(client);
      if (token !== undefined) {
        tokens.delete(client);
        return formatRequest('GET', '/api/user/self', { headers: { authorization: `Bearer ${token}` } });
      }
      const cookie = sessions[started % sessions.length] ?? '';
      started += 1;
      return formatRequest('POST', '/api/user/auth/refresh', { headers: { cookie }, body: '' });
    },
    take: ({ status, body }, client) => {
      const text = body.toString();
      if (status !== 200) throw new Error(`a session was answered ${status}: ${text.slice(0, 300)}`);
      const token = /"access_token":"([^"]+)"/.exec(text)?.[1];
      if (token !== undefined) tokens.set(client, token);
    },
    pauseMs: () => Math.max(0, begun + (started / SESSIONS_A_SECOND) * 1000 - performance.now()),
  };
}

/**
 * Copies the session of a refresh cookie under new ids; the digest of the token's secret does not
 * depend on the id. Returns the cookies of the copies.
 */
function copySession(dataDir: string, cookie: string, count: number): string[] {
  const [sid = '', secret = ''] = cookie.slice(cookie.indexOf('=') + 1).split('.');
  const database = new Database(join(dataDir, 'taskgate.db'));
  const columns = (database.query('select name from pragma_table_info(?)').all('user_sessions') as { name: string }[])
    .map(({ name }) => `"${name}"`)
    .filter((name) => name !== '"sid"')
    .join();
  const insert = database.query(
    `insert into user_sessions (sid, ${columns}) select ?, ${columns} from user_sessions where sid = ?`,
  );
  const sids = Array.from({ length: count }, () => crypto.randomUUID());
  database.transaction(() => {
    for (const copy of sids) insert.run(copy, sid);
  })();
  database.close();
  return sids.map((copy) => `svc_refresh=${copy}.${secret}`);
}
