import { formatRequest } from '../load/http-client.ts';
import { callPeer, type Peer, startProgram } from './start-peer.ts';

const ROWS = 1000;
const ADMIN = { identity: 'bench@example.com', password: 'bench-password-1' };
/** It would keep what an earlier run has created beside the folder, and create that again. */
const IN_FOLDER = '--dir "$2" --migrationsDir "$2/migrations"';
const OWN = 'user = @request.auth.id';

/**
 * PocketBase with a collection of tasks whose rules show people their own rows, and an index by
 * user and time, as its documentation recommends for lists.
 */
export async function startPocketBase(binary: string): Promise<Peer> {
  const program = await startProgram(
    ({ port, folder }) => [
      ...[
        'sh',
        '-c',
        `"$0" superuser upsert "$3" "$4" ${IN_FOLDER} && exec "$0" serve --http "127.0.0.1:$1" ${IN_FOLDER}`,
      ],
      ...[binary, String(port), folder, ADMIN.identity, ADMIN.password],
    ],
    { path: '/api/health' },
  );
  const at = (path: string): string => `${program.url}/api/collections/${path}`;
  const { token: admin } = await callPeer<{ token: string }>(at('_superusers/auth-with-password'), { body: ADMIN });
  await callPeer(`${program.url}/api/collections`, {
    token: admin,
    body: {
      name: 'tasks',
      type: 'base',
      fields: [
        { name: 'user', type: 'relation', collectionId: '_pb_users_auth_', maxSelect: 1, required: true },
        { name: 'prompt', type: 'text' },
        { name: 'status', type: 'text' },
        { name: 'facts', type: 'json' },
        { name: 'created', type: 'autodate', onCreate: true },
      ],
      indexes: ['create index tasks_user on tasks (user, created)'],
      ...{ listRule: OWN, viewRule: OWN, createRule: '@request.auth.id != ""' },
    },
  });
  const person = { email: 'user@example.com', password: 'bench-password-2', passwordConfirm: 'bench-password-2' };
  await callPeer(at('users/records'), { token: admin, body: person });
  const signedIn = await callPeer<{ token: string; record: { id: string } }>(at('users/auth-with-password'), {
    body: { identity: person.email, password: person.password },
  });
  const { token, record } = signedIn;
  const task = { user: record.id, prompt: 'a lighthouse in the fog', status: 'SUCCESS', facts: { seconds: 4 } };
  let id = '';
  for (let number = 0; number < ROWS; number += 1)
    ({ id } = await callPeer<{ id: string }>(at('tasks/records'), { token, body: task }));
  const headers = { authorization: token, 'content-type': 'application/json' };
  const get = (path: string): string => formatRequest('GET', `/api/collections/${path}`, { headers });
  return {
    ...{ name: 'PocketBase', port: program.port, pid: program.pid, stop: program.stop },
    requests: {
      'session read': get(`users/records/${record.id}`),
      'first page of 1,000 rows': get('tasks/records?page=1&perPage=20&sort=-created'),
      'read of one row': get(`tasks/records/${id}`),
      'durable write of one row': formatRequest('POST', '/api/collections/tasks/records', {
        headers,
        body: JSON.stringify(task),
      }),
    },
  };
}
