/**
 * The least programs that could do the gateway's requests, with its framework and its database:
 * `bun bench/least/server.ts DATABASE FULL|NORMAL VENDOR_URL`. They check, read and write what the
 * gateway must, and know no other case: no limits, no permissions, no audit, no log, no plugin.
 * What a request takes here no change of the gateway can save. Prints its port.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { Elysia } from 'elysia';
import { createGroupCommit, openTables, sha256 } from './tables.ts';

const [path = '', synchronous = 'FULL', vendorUrl = ''] = process.argv.slice(2);
const database = openTables(path, synchronous === 'NORMAL' ? 'NORMAL' : 'FULL');
const commit = createGroupCommit(database);
const secret = Buffer.alloc(32, 7);
const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
const padding = 'x'.repeat(400);

const hmac = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');
const now = () => Math.floor(Bun.nanoseconds() / 1e9);

function sign(sid: string): string {
  const claims = { sid, uv: 1, sv: 1, sub: '1', exp: now() + 900, jti: randomUUID() };
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${hmac(signed)}`;
}

function verify(token: string): { sid: string; uv: number } {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1));
  if (!timingSafeEqual(signature, Buffer.from(hmac(token.slice(0, end))))) throw new Error('unauthorized');
  return JSON.parse(Buffer.from(token.slice(token.indexOf('.') + 1, end), 'base64url').toString());
}

const readAccount = database.query(
  `select u.id, u.name, u.role, u.quota, s.version from sessions s join users u on u.id = s.user_id
   where s.sid = ? and u.version = ?`,
);
const readSession = database.query('select hash, version from sessions where sid = ?');
const rotate = database.query(
  'update sessions set previous = hash, hash = ?, active_at = ? where sid = ? and hash = ? returning sid',
);
const readOwner = database.query('select user_id from keys where hash = ?');
const readTask = database.query('select id, task_id, properties, data from tasks where task_id = ? and user_id = ?');
const countTasks = database.query(
  'select count(*) as total from (select 1 from listed where user_id = ? and hidden_at = 0 limit 1001)',
);
const readPage = database.query(
  `select l.*, u.name as username, k.quota as key_name, c.name as channel_name from listed l
   left join users u on u.id = l.user_id left join keys k on k.rowid = l.key_id left join users c on c.id = l.channel_id
   where l.user_id = ? and l.hidden_at = 0 order by l.id desc limit 20`,
);
const insertTask = database.query('insert into tasks (task_id, user_id, properties, data) values (?, ?, ?, null)');
const insertDue = database.query(
  "insert into due (id, status, vendor_id, next_poll_at, digest) values (last_insert_rowid(), 'NOT_START', '', 0, '') returning id",
);
const insertEvent = database.query('insert into events (task_id, at, kind) values (?, ?, ?)');
const insertLedger = database.query('insert into ledger (user_id, task_id, amount) values (?, ?, ?)');
const takeOfKey = database.query('update keys set quota = quota - ? where user_id = ? and quota >= ?');
const takeOfUser = database.query('update users set quota = quota - ? where id = ? and quota >= ?');
const accept = database.query(
  "update due set status = 'SUBMITTED', vendor_id = ?, next_poll_at = ? where id = ? and status = 'NOT_START'",
);

type Asked = { headers: Record<string, string | undefined> };
const bearer = ({ headers }: Asked): string => (headers.authorization ?? '').slice('Bearer '.length);

function ownerOfKey(asked: Asked): number {
  const owner = readOwner.get(sha256(bearer(asked))) as { user_id: number } | null;
  if (!owner) throw new Error('unauthorized');
  return owner.user_id;
}

async function submit(asked: Asked & { body: unknown }): Promise<object> {
  const user = ownerOfKey(asked);
  const { model, prompt } = asked.body as { model: string; prompt: string };
  const taskId = `task_${randomUUID()}`;
  let id = 0;
  await commit(() => {
    insertTask.run(taskId, user, JSON.stringify({ model, prompt }));
    ({ id } = insertDue.get() as { id: number });
    insertEvent.run(id, now(), 'created');
    insertLedger.run(user, id, -200);
    takeOfKey.run(200, user, 200);
    takeOfUser.run(200, user, 200);
  });
  const answer = await fetch(`${vendorUrl}/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
    body: JSON.stringify({ model, prompt, reference_id: taskId }),
  });
  const job = (await answer.json()) as { id: string };
  await commit(() => {
    accept.run(job.id, Date.now() + 3_000, id);
    insertEvent.run(id, now(), 'submitted');
  });
  return { id: taskId, status: 'SUBMITTED', model, prompt };
}

const app = new Elysia()
  .get('/constant', () => ({ success: true, data: { ...(readAccount.get('session-0', 1) as object), padding } }))
  .get('/session', (asked) => {
    const { sid, uv } = verify(bearer(asked));
    return { success: true, data: { ...(readAccount.get(sid, uv) as object), padding } };
  })
  .get('/list', (asked) => {
    const { sid, uv } = verify(bearer(asked));
    const { id } = readAccount.get(sid, uv) as { id: number };
    const { total } = countTasks.get(id) as { total: number };
    return { success: true, data: { page: 1, page_size: 20, total, has_more: total > 1000, items: readPage.all(id) } };
  })
  .post('/refresh', async ({ headers, set }) => {
    const cookie = (headers.cookie ?? '').slice('refresh='.length);
    const [sid = '', former = ''] = cookie.split('.');
    const stored = readSession.get(sid) as { hash: string };
    const digest = hmac(former);
    if (stored.hash !== '' && stored.hash !== digest) throw new Error('unauthorized');
    readAccount.get(sid, 1);
    const next = hmac(`${sid}.${former}`);
    await commit(() => {
      if (!rotate.get(hmac(next), now(), sid, stored.hash)) throw new Error('a lost race');
    });
    set.headers['set-cookie'] = `refresh=${sid}.${next}; Path=/; HttpOnly; SameSite=Strict`;
    return { success: true, data: { access_token: sign(sid), padding } };
  })
  .get('/tasks/:id', ({ headers, params }) => {
    const task = readTask.get(params.id, ownerOfKey({ headers })) as Record<string, string>;
    return { ...task, properties: JSON.parse(task.properties ?? ''), data: JSON.parse(task.data ?? '') };
  })
  .post('/submit', ({ headers, body }) => submit({ headers, body }))
  .get('/token', () => sign('session-0'))
  .listen({ hostname: '127.0.0.1', port: 0 });
process.stdout.write(`${app.server?.port}\n`);
