import { formatRequest } from '../load/http-client.ts';
import { type ChatAddress, callPeer, type Peer, startProgram } from './start-peer.ts';

const ROOT = { username: 'root', password: 'bench-password' };
type Answer<Data> = { success: boolean; message: string; data: Data };

/** new-api on SQLite with a channel to the vendor of chats, without rate limits and prices. */
export async function startNewApi(binary: string, vendor: ChatAddress): Promise<Peer> {
  const program = await startProgram(() => [binary], {
    path: '/api/status',
    env: ({ port, folder }) => ({
      ...{ PORT: String(port), SQLITE_PATH: `${folder}/new-api.db`, SESSION_SECRET: 'a secret of the bench' },
      ...{ GLOBAL_API_RATE_LIMIT_ENABLE: 'false', GLOBAL_WEB_RATE_LIMIT_ENABLE: 'false' },
      ...{ CRITICAL_RATE_LIMIT_ENABLE: 'false', GIN_MODE: 'release' },
    }),
  });
  const call = async <Data>(path: string, options?: Parameters<typeof callPeer>[1]): Promise<Data> => {
    const answer = await callPeer<Answer<Data>>(`${program.url}${path}`, options);
    if (!answer.success) throw new Error(`new-api answered ${path}: ${answer.message}`);
    return answer.data;
  };
  await call('/api/setup', {
    body: { ...ROOT, confirmPassword: ROOT.password, SelfUseModeEnabled: true, DemoSiteEnabled: false },
  });
  const { access_token: access } = await call<{ access_token: string }>('/api/user/login', { body: ROOT });
  const token = `Bearer ${access}`;
  const { key: vendorKey, model: models, url } = vendor;
  await call('/api/channel/', {
    token,
    body: {
      mode: 'single',
      channel: {
        ...{ type: 1, name: 'bench', key: vendorKey, base_url: url, models, group: 'default' },
        groups: ['default'],
      },
    },
  });
  await call('/api/token/', { token, body: { name: 'bench', unlimited_quota: true, expired_time: -1 } });
  const { items } = await call<{ items: { id: number; key: string }[] }>('/api/token/?p=1&size=1', {
    ...{ method: 'GET', token },
  });
  const [made] = items;
  if (!made) throw new Error('new-api lists no token');
  // Later versions mask it in lists.
  const key = made.key.includes('*')
    ? (await call<{ key: string }>(`/api/token/${made.id}/key`, { token })).key
    : made.key;
  const get = (path: string): string => formatRequest('GET', path, { headers: { authorization: token } });
  const chat = (stream: boolean): string =>
    formatRequest('POST', '/v1/chat/completions', {
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: models, stream, messages: [{ role: 'user', content: 'how is the weather' }] }),
    });
  return {
    ...{ name: 'new-api', port: program.port, pid: program.pid, stop: program.stop },
    requests: {
      'session read': get('/api/user/self'),
      'relayed chat': chat(false),
      'relayed stream of 100 events': chat(true),
    },
  };
}
