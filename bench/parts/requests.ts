import { ROOT } from '../../test/support/gateway.ts';
import type { Figure } from '../figures.ts';
import { formatRequest, type HttpAnswer } from '../load/http-client.ts';
import { CONNECTIONS, measureRequests } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { openStage } from '../stage.ts';

/** So many that no limit is met. */
export const NO_LIMITS = {
  CRITICAL_RATE_LIMIT: '1000000000',
  GLOBAL_API_RATE_LIMIT: '1000000000',
  USER_SESSION_ACTIVE_LIMIT: '1000000',
  USER_SESSION_ISSUANCE_LIMIT: '1000000',
};

/** What a panel and an API client ask for most, on SQLite: sessions, refreshes, reads by key. */
export async function benchRequests({ build, seconds }: Run): Promise<Figure[]> {
  const stage = await openStage(build, NO_LIMITS);
  const { gateway, admin, key } = stage;
  const load = { gateway, seconds };
  try {
    const task = await stage.submit('a lighthouse in the fog');
    const read = (path: string, token: string) => {
      const text = formatRequest('GET', path, { headers: { authorization: `Bearer ${token}` } });
      return () => text;
    };
    return [
      ...(await measureRequests({
        ...load,
        what: 'session read, GET /api/user/self',
        next: read('/api/user/self', admin.token),
        aims: { rate: 15_000 },
      })),
      ...(await measureRequests({
        ...load,
        what: 'refresh with rotation',
        ...(await prepareRefreshes(gateway.url)),
        aims: { rate: 9_000 },
      })),
      ...(await measureRequests({
        ...load,
        what: 'read by key, GET /v1/tasks/:id',
        next: read(`/v1/tasks/${task}`, key),
        aims: { rate: 20_000 },
      })),
      ...(await measureRequests({
        ...load,
        what: 'read by key, GET /v1/videos/:id',
        next: read(`/v1/videos/${task}`, key),
        aims: { rate: 18_000 },
      })),
    ];
  } finally {
    await stage.stop();
  }
}

/** A session for each connection, which sends back the cookie that it was given last. */
export async function prepareRefreshes(url: string): Promise<{
  next: (client: number) => string;
  take: (answer: HttpAnswer, client: number) => void;
}> {
  const cookies: string[] = [];
  for (let client = 0; client < CONNECTIONS; client += 1) cookies.push(await logIn(url));
  return {
    next: (client) =>
      formatRequest('POST', '/api/user/auth/refresh', { headers: { cookie: cookies[client] ?? '' }, body: '' }),
    take: ({ head }, client) => {
      const cookie = /svc_refresh(_[0-9a-f]+)?=[^;\r]+/.exec(head)?.[0];
      if (cookie === undefined) throw new Error('a refresh set no cookie');
      cookies[client] = cookie;
    },
  };
}

/** Root's refresh cookie, as a client sends it back. */
export async function logIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ROOT),
  });
  const cookie = answer.headers.getSetCookie().find((set) => set.startsWith('svc_refresh'));
  if (cookie === undefined) throw new Error(`a login was answered ${answer.status} without a refresh cookie`);
  return cookie.slice(0, cookie.indexOf(';'));
}
