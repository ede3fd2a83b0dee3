import { type Administrator, setUp, signIn } from '../../test/support/gateway.ts';
import type { Figure } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { CONNECTIONS, measureRequests } from '../load/measure-requests.ts';
import { startScript } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { openStage, type Stage, startBuild } from '../stage.ts';
import { NO_LIMITS } from './requests.ts';

export const CHAT_MODEL = 'chat-x';
const WARM_UP_REQUESTS = 1000;
/** As many as one account may have open at once. */
export const OPEN_STREAMS = 64;
const ENV = { ...NO_LIMITS, UPDATE_TASK: 'false', SQLITE_SYNCHRONOUS: 'NORMAL' };
const SUBMISSION = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });
const post = (path: string, key: string, body: string): string =>
  formatRequest('POST', path, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });

export const formatSubmission = (key: string): string => post('/v1/tasks/demo', key, SUBMISSION);

/** `user`: `paced` has the vendor take a second for its 100 events. */
export const formatChat = (key: string, stream: boolean, user?: string): string =>
  post(
    '/v1/chat/completions',
    key,
    JSON.stringify({ model: CHAT_MODEL, stream, user, messages: [{ role: 'user', content: 'how is the weather' }] }),
  );

/** What a request takes that is the only one: nothing is shared with others. */
export async function benchAlone({ build, seconds }: Run): Promise<Figure[]> {
  const stage = await openStage(build, ENV);
  const { gateway, admin, key } = stage;
  const load = { gateway, seconds, connections: 1, warmUpRequests: WARM_UP_REQUESTS };
  try {
    const task = await stage.submit('a lighthouse in the fog');
    const session = formatRequest('GET', '/api/user/self', { headers: { authorization: `Bearer ${admin.token}` } });
    const read = formatRequest('GET', `/v1/tasks/${task}`, { headers: { authorization: `Bearer ${key}` } });
    const submission = formatSubmission(key);
    return [
      ...(await measureRequests({ ...load, what: 'session read alone', next: () => session })),
      ...(await measureRequests({ ...load, what: 'read by key alone', next: () => read })),
      ...(await measureRequests({ ...load, what: 'submission alone, SQLite NORMAL', next: () => submission })),
      ...(await measureRequests({
        ...{ ...load, connections: CONNECTIONS },
        what: 'submissions of one user, SQLite NORMAL',
        next: () => submission,
      })),
      ...(await benchManyUsers(stage, seconds)),
    ];
  } finally {
    await stage.stop();
  }
}

/** As many users as connections, each with one submission at a time, beside the row of one user. */
async function benchManyUsers({ gateway, admin }: Stage, seconds: number): Promise<Figure[]> {
  const keys: string[] = [];
  for (let number = 0; number < CONNECTIONS; number += 1) {
    const username = `user-${number}`;
    await admin.createUser({ username, quota: 50_000_000 });
    keys.push(await (await signIn(gateway.url, { username })).createKey({ name: 'bench' }));
  }
  const texts = keys.map(formatSubmission);
  return measureRequests({
    ...{ gateway, seconds, warmUpRequests: WARM_UP_REQUESTS },
    what: `submissions of ${CONNECTIONS} users, SQLite NORMAL`,
    next: (client) => texts[client] ?? '',
  });
}

/** Chats that a relay channel passes to a vendor of its own process: alone, many, as 100 events. */
export async function benchChats({ build, seconds }: Run): Promise<Figure[]> {
  const vendor = await startScript('load/serve-chats.ts');
  const gateway = await startBuild(build, { env: ENV });
  try {
    const admin = await setUp(gateway);
    const key = await openChannel(admin, { url: `${vendor.url}/v1`, key: 'sk-chats' });
    type Row = { what: string; stream: boolean; connections: number; user?: string };
    const rows: Row[] = [
      { what: 'relayed chat alone', stream: false, connections: 1 },
      { what: 'relayed chats', stream: false, connections: CONNECTIONS },
      { what: 'relayed stream of 100 events alone', stream: true, connections: 1 },
      { what: 'relayed streams of 100 events', stream: true, connections: CONNECTIONS },
      { what: 'relayed streams of 100 events in a second', stream: true, connections: OPEN_STREAMS, user: 'paced' },
    ];
    const measure = ({ stream, what, connections, user }: Row) => {
      const text = formatChat(key, stream, user);
      const load = { gateway, seconds, warmUpRequests: WARM_UP_REQUESTS, next: () => text };
      return measureRequests({ ...load, what, connections });
    };
    const figures: Figure[] = [];
    for (const each of rows) figures.push(...(await measure(each)));
    if (!(await holdInMemory(admin, true))) return figures;
    for (const { what, ...each } of rows)
      figures.push(...(await measure({ ...each, what: `${what}, reserved in memory` })));
    return figures;
  } finally {
    await Promise.all([gateway.stop(), vendor.stop()]);
  }
}

/** Whether chats are reserved in memory. False: an earlier build cannot do it. */
export const holdInMemory = (admin: Administrator, isOn: boolean): Promise<boolean> =>
  admin.call('PUT', '/api/option', { key: 'billing.memory_hold_quota', value: isOn ? '5000000' : '0' }).then(
    () => true,
    () => false,
  );

/** A relay channel to the vendor with a price by its tokens; returns a key. */
export async function openChannel(admin: Administrator, vendor: { url: string; key: string }): Promise<string> {
  await admin.call('POST', '/api/channel', {
    ...{ name: 'relay', type: 1, key: vendor.key, base_url: vendor.url, models: [CHAT_MODEL] },
  });
  await admin.call('PUT', '/api/price', {
    ...{ plugin_key: '*', model: CHAT_MODEL, expression: '0.000001 * u("output_tokens")' },
  });
  return admin.createKey();
}
