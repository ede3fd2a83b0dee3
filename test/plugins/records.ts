/** Rows of other tables that plugin management reads. */
import { randomBytes } from 'node:crypto';
import type { Json } from '../../src/kernel/index.ts';
import type { NewChannel, NewTask, Store, TaskChange } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';

export const channel = (change: Partial<NewChannel> = {}): NewChannel => ({
  name: 'c',
  type: 61,
  baseUrl: 'https://api.example',
  models: ['acme-1'],
  groups: ['default'],
  priority: 0,
  weight: 1,
  modelMapping: {},
  taskPluginKey: 'acme',
  settings: {},
  status: 1,
  createdAt: 1,
  updatedAt: 1,
  ...change,
});

/** An unfinished task of a plugin; gives its id. */
export async function insertTask(store: Store, platform: string): Promise<string> {
  const { id: userId, walletId } = await addUser(store);
  const owner = await store.channels.insert(channel({ status: 2, taskPluginKey: null }));
  const task: NewTask = {
    taskId: `task_${randomBytes(16).toString('hex')}`,
    platform,
    userId,
    walletId,
    apiKeyId: null,
    group: 'default',
    channelId: owner.id,
    action: '',
    quota: 0,
    properties: { input: '', originModelName: 'acme-1', upstreamModelName: 'acme-1' },
    execution: { requestId: 'r', pluginKey: platform, pluginVersion: '1.0.0', generation: 1, surface: 'generic' },
    billing: { expression: null, priceKey: null, facts: {}, groupRatio: 1, usd: 0, model: 'acme-1', action: '' },
    createdAt: 1,
    leaseOwner: 'n',
    leaseForMs: 60_000,
  };
  await store.tasks.insert(task);
  return task.taskId;
}

/** A task that has ended with this stored answer; gives its id. */
export async function insertEndedTask(
  store: Store,
  platform: string,
  { data, change = { status: 'SUCCESS' } }: { data: Json; change?: TaskChange },
): Promise<string> {
  const taskId = await insertTask(store, platform);
  const lease = { taskId, leaseOwner: 'n', leaseSeq: 1 };
  const taken = { upstreamTaskId: `job-${taskId}`, data };
  if (!(await store.tasks.advance(lease, { ...taken, ...change }, null))) throw new Error('the task was not advanced');
  return taskId;
}
