import { type Json, nextTurn } from '../kernel/index.ts';
import { shownUrl } from '../notifications/index.ts';
import type { SessionRecord, Store, TaskRecord } from '../store/ports/index.ts';
import { taskState } from '../tasks/index.ts';

/** Rows that are read at a time: few enough that requests in between do not notice. */
const PAGE = 100;
const AUDIT_SLICE = 2000;

type Deps = {
  store: Pick<
    Store,
    'users' | 'apiKeys' | 'identities' | 'passkeys' | 'taskViews' | 'results' | 'personalData' | 'batches'
  >;
};

/**
 * Everything that the gateway holds about one person, as the pieces of one JSON document. No
 * credential is in it, and nothing of vendors: not what they answered, nor which account served.
 */
export async function* exportUser({ store }: Deps, userId: number, now: number): AsyncGenerator<string> {
  const { personalData } = store;
  yield `{"format":"taskgate.user-export","version":1,"exported_at":${now},"account":${JSON.stringify(await describeAccount(store, userId))}`;
  const { list } = store.apiKeys;
  yield* section('identities', async () => ({
    items: (await store.identities.list(userId)).map(({ provider, subject, createdAt }) => ({
      provider,
      subject,
      created_at: createdAt,
    })),
  }));
  yield* section('passkeys', async () => ({
    items: (await store.passkeys.list(userId)).map(({ name, createdAt, lastUsedAt }) => ({
      name,
      created_at: createdAt,
      last_used_at: lastUsedAt,
    })),
  }));
  yield* section('sessions', async (skip) => {
    const rows = await personalData.exportSessions(userId, { skip, limit: PAGE });
    return { next: rows.length < PAGE ? undefined : skip + PAGE, items: rows.map(describeSession) };
  });
  yield* section('api_keys', async (page) => {
    const { items } = await list(userId, { page: page + 1, pageSize: PAGE });
    return { next: items.length < PAGE ? undefined : page + 1, items: items.map(describeKey) };
  });
  yield* section('task_views', async () => ({
    items: (await store.taskViews.list(userId)).map(({ name, query, createdAt }) => ({
      name,
      query,
      created_at: createdAt,
    })),
  }));
  yield* section('tasks', (after) => taskPage(store, userId, after));
  yield* section('batches', (after) => batchPage(store, userId, after));
  yield* section('batch_files', async () => ({
    items: await Promise.all(
      (await store.batches.files(userId)).map(async ({ fileId, filename, createdAt }) => ({
        id: fileId,
        filename,
        created_at: createdAt,
        content: await store.batches.fileContent(fileId),
      })),
    ),
  }));
  yield* section('webhook_notices', async (after) => {
    const rows = await personalData.exportNotices(userId, after, PAGE);
    return paged(rows, ({ taskId, event, url, payload, createdAt }) => ({
      task_id: taskId,
      event,
      url: shownUrl(url),
      payload,
      created_at: createdAt,
    }));
  });
  yield* section('usage', async (after) =>
    paged(await personalData.exportUsage(userId, after, PAGE), (row) => ({
      task_id: row.taskId,
      api_key_id: row.apiKeyId,
      model: row.model,
      kind: row.kind,
      quota: row.quota,
      created_at: row.createdAt,
    })),
  );
  yield* section('ledger', async (after) =>
    paged(await personalData.exportLedger(userId, after, PAGE), (row) => ({
      task_id: row.taskId,
      kind: row.kind,
      amount: row.amount,
      reason: row.reason,
      note: row.note,
      about_task_id: row.aboutTaskId,
      created_at: row.createdAt,
    })),
  );
  yield* section('audit', async (after) => {
    const { rows, next } = await personalData.exportAudit(userId, { after, size: AUDIT_SLICE });
    return {
      next,
      items: rows.map((row) => ({
        by_you: row.userId === userId,
        action: row.action,
        target: row.target,
        // Where an administrator was, and what else they did, is not this person's.
        ...(row.userId === userId ? { ip: row.ip, auth_method: row.authMethod, detail: row.detail } : {}),
        created_at: row.createdAt,
      })),
    };
  });
  yield '}\n';
}

type Items = { items: unknown[]; next?: number | undefined };

/**
 * A member with an array, read page by page; `next` is where the next page begins. Other requests
 * have their turn in between.
 */
async function* section(name: string, read: (after: number) => Promise<Items>): AsyncGenerator<string> {
  yield `,\n${JSON.stringify(name)}:[`;
  let separator = '';
  for (let after: number | undefined = 0; after !== undefined; ) {
    await nextTurn();
    const { items, next }: Items = await read(after);
    for (const item of items) {
      yield `${separator}${JSON.stringify(item)}`;
      separator = ',\n';
    }
    after = next;
  }
  yield ']';
}

const paged = <Row extends { id: number }>(rows: readonly Row[], describe: (row: Row) => unknown): Items => ({
  items: rows.map(describe),
  next: rows.length < PAGE ? undefined : rows.at(-1)?.id,
});

async function describeAccount(store: Deps['store'], userId: number) {
  const user = await store.users.adminById(userId);
  if (!user) return null;
  return {
    id: user.id,
    username: user.username,
    display_name: user.displayName,
    email: user.email,
    role: user.role,
    group: user.group,
    language: user.language,
    quota: user.quota,
    used_quota: user.usedQuota,
    request_count: user.requestCount,
    created_at: user.createdAt,
    last_login_at: user.lastLoginAt,
    deleted_at: user.deletedAt,
  };
}

/** Ended ones too: their address and browser are stored for as long as the row is. */
const describeSession = (session: SessionRecord) => ({
  ip: session.ip,
  user_agent: session.userAgent,
  login_method: session.loginMethod,
  created_at: session.createdAt,
  last_active_at: session.lastActiveAt,
  expires_at: session.expiresAt,
  revoked_at: session.revokedAt,
});

type KeyRow = Awaited<ReturnType<Store['apiKeys']['list']>>['items'][number];

const describeKey = (key: KeyRow) => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  models: key.models,
  allow_ips: key.allowIps,
  quota: key.quota,
  used_quota: key.usedQuota,
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  last_used_at: key.lastUsedAt,
  last_used_ip: key.lastUsedIp,
});

async function taskPage({ personalData, results }: Deps['store'], userId: number, after: number): Promise<Items> {
  const tasks = await personalData.exportTasks(userId, after, PAGE);
  const ids = tasks.map(({ taskId }) => taskId);
  const [events, kept] = await Promise.all([
    personalData.exportEvents(ids),
    ids.length === 0 ? [] : results.ofTasks(ids),
  ]);
  const eventsByTask = Map.groupBy(events, ({ taskId }) => taskId);
  const keptByTask = Map.groupBy(kept, ({ taskId }) => taskId);
  return paged(tasks, (task) => ({
    ...taskState(task),
    prompt: task.properties.input,
    ...readRequest(task),
    quota: task.quota,
    timeline: (eventsByTask.get(task.taskId) ?? []).map(({ at, kind, status }) => ({ at, kind, status })),
    kept_results: (keptByTask.get(task.taskId) ?? []).map((result) => ({
      key: result.artifactKey,
      state: result.state,
      type: result.mimeType,
      bytes: result.bytes,
      sha256: result.sha256,
      kept_until: result.keptUntil,
    })),
  }));
}

async function batchPage({ batches }: Deps['store'], userId: number, after: number): Promise<Items> {
  const [batch] = await batches.ofUser(userId, { after, limit: 1, order: 'asc' });
  if (!batch) return { items: [] };
  const { batchId, endpoint, status, metadata, createdAt } = batch;
  const [outcomes, unsent] = await Promise.all([
    batches.outcomes(batchId, -1, batch.total),
    batches.unsent(batchId, batch.total),
  ]);
  const bodies = new Map(unsent.map(({ position, body }) => [position, body]));
  const requests = outcomes.map((item) => ({
    ...{ custom_id: item.customId, url: item.path, status: item.status, task_id: item.taskId },
    ...(bodies.has(item.position) ? { body: bodies.get(item.position) } : {}),
  }));
  return { items: [{ id: batchId, endpoint, status, metadata, created_at: createdAt, requests }], next: batch.id };
}

function readRequest({ execution }: Pick<TaskRecord, 'execution'>): { request?: Json; response?: Json } {
  const { request, response } = execution;
  return {
    ...(request === undefined ? {} : { request: request.body }),
    ...(response === undefined ? {} : { response: response as Json }),
  };
}
