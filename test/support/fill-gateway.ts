/**
 * A gateway that looks lived in: channels, users, keys, prices, finished, failed and running tasks,
 * a second version of a plugin.
 */
import { type Administrator, ask, type Gateway, type VendorProcess } from './gateway.ts';
import { until } from './until.ts';

export type Filled = {
  /** Public ids of tasks, by how they ended. */
  tasks: { finished: string; failed: string; running: string };
  userId: number;
  channelId: number;
  /** Another version of the demo plugin that is stored and does not serve. */
  pluginVersion: string;
};

const people = [
  { username: 'mira', display_name: 'Mira Okonkwo' },
  { username: 'jonas', display_name: 'Jonas Aebischer-Wittgenstein' },
  { username: 'li.na', display_name: '李娜' },
  { username: 'studio', display_name: 'Studio Nord (shared account of the editing room)' },
];

const prompts = [
  'A lighthouse in the fog, slow zoom',
  'Rain on a tin roof, macro, 24 fps',
  '清晨的江南水乡，小船缓缓驶过石桥',
  'A paper boat crossing a puddle that reflects a whole city at night, cinematic, very long prompt that does not fit',
];

/** Needs a gateway with its root account and a running demo vendor. */
export async function fillGateway(gateway: Gateway, admin: Administrator, vendor: VendorProcess): Promise<Filled> {
  const channelId = await admin.createChannel(vendor.url, { name: 'Demo studio', priority: 10 });
  await admin.createChannel(vendor.url, { name: 'Demo studio, second account', priority: 5, weight: 3 });
  await admin.createChannel('https://api.example.com', {
    name: 'Kling (production, paid by the agency)',
    task_plugin_key: 'kling',
    models: ['kling-v1', 'kling-v1-6'],
    status: 2,
    groups: ['default', 'vip'],
  });
  await admin.call('PUT', '/api/option', { key: 'groups', value: JSON.stringify({ default: 1, vip: 0.8 }) });
  for (const [model, expression] of [
    ['demo-video', '0.02 * u("seconds")'],
    ['demo-video-pro', '0.05 + 0.04 * u("seconds")'],
  ]) {
    await admin.call('PUT', '/api/price', { plugin_key: 'demo', model, expression });
  }
  const users = [];
  for (const person of people) {
    users.push(await admin.createUser(person));
  }
  await admin.createKey({ name: 'Editing room', unlimited_quota: false, quota: 5_000_000 });
  const key = await admin.createKey({ name: 'Render farm', models: ['demo-video', 'demo-video-pro'] });
  const pluginVersion = await storePlugin(admin);

  const submit = async (prompt: string, model = 'demo-video'): Promise<string> => {
    const { status, body } = await ask(`${gateway.url}/v1/tasks/demo`, {
      token: key,
      body: { model, prompt, seconds: 5 },
    });
    if (status !== 200) throw new Error(`a submission was answered ${status}: ${JSON.stringify(body)}`);
    return String(body.id);
  };
  const finished = await submit(`${prompts[0]} [duration=0.3]`);
  const ending = [finished];
  for (const [index, prompt] of prompts.entries()) {
    ending.push(await submit(`${prompt} [duration=0.3]`, index % 2 === 0 ? 'demo-video' : 'demo-video-pro'));
  }
  const failed = await submit('A castle made of clouds [fail]');
  const running = await submit('A forest that grows in one minute [duration=3600]');
  await until('the tasks have ended', async () => {
    for (const id of [...ending, failed]) {
      const { body } = await ask(`${gateway.url}/v1/tasks/${id}`, { token: key });
      if (!['SUCCESS', 'FAILURE'].includes(String(body.status))) return false;
    }
    return true;
  });
  return { tasks: { finished, failed, running }, userId: users[1] ?? 0, channelId, pluginVersion };
}

/** What ships with the gateway under a new number, with one visible change. */
async function storePlugin(admin: Administrator): Promise<string> {
  const { source } = await admin.call<{ source: string }>('GET', '/api/plugin/task/demo');
  const upload = (version: string, text: string) =>
    admin.call('POST', '/api/plugin/task', { source: text, remark: `Demo plugin ${version}` }).then(() => version);
  const numbered = (version: string): string => source.replace(/(version:\s*['"])[^'"]+/, `$1${version}`);
  await upload('9.0.0', numbered('9.0.0'));
  return upload('9.1.0', `${numbered('9.1.0')}\n// Read twice before this serves.\n`);
}
