/**
 * A gateway that looks lived in: channels, users, keys, prices, finished, failed and running tasks,
 * a second version of a plugin, ways to sign in, a marketplace.
 */
import { TOTP } from 'otpauth';
import { type Administrator, ask, type Gateway, signIn, type VendorProcess } from './gateway.ts';
import { type MarketServer, publish } from './market-server.ts';
import { until } from './until.ts';

export type Filled = {
  /** Public ids of tasks, by how they ended. */
  tasks: { finished: string; failed: string; refused: string; running: string };
  userId: number;
  channelId: number;
  providerId: number;
  /** Another version of the demo plugin that is stored and does not serve. */
  pluginVersion: string;
  /** Signs the member in, once. */
  backupCode: string;
};

/** Has a second factor, keys and tasks, and administers nothing. */
export const MEMBER = 'mira';

const people = [
  { username: MEMBER, display_name: 'Mira Okonkwo', email: 'mira@example.org', quota: 25_000_000 },
  { username: 'jonas', display_name: 'Jonas Aebischer-Wittgenstein', quota: 5_000_000, group: 'vip' },
  { username: 'li.na', display_name: '李娜', quota: 120_000_000, role: 10 },
  { username: 'studio', display_name: 'Studio Nord (shared account of the editing room)', quota: 60_000 },
  { username: 'press', email: 'press-and-public-relations@department.example.org' },
];

const prompts = [
  'A lighthouse in the fog, slow zoom',
  'Rain on a tin roof, macro, 24 fps',
  '清晨的江南水乡，小船缓缓驶过石桥',
  'A paper boat crossing a puddle that reflects a whole city at night, cinematic, very long prompt that does not fit',
  'Steam over a bowl of noodles, handheld, shallow depth of field',
  'An old tram climbs a hill at dusk',
];

/** The first frame of a task: the sun over the sea. */
const FRAME =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAADAAAAAbCAIAAAC1C5slAAAAeklEQVR42u3Oqw2AUBBE0S2EUiiFGkZTCQKBQCAQlEMVrwIUBkH4vAWxZBImuXImOZYaUGUCuaAWVP0PtMz1vgegDnEdNJspe7GPNa6JENQjqBzo/iWQDxoQ17Ume4kFnU3uPhz0NksjqBLIB02gig9UlBVVAgkkUHQrK6hwURypN2QAAAAASUVORK5CYII=';

/** Tasks of the past: enough for a second page, and for charts with a shape. */
const PAST_TASKS = 48;

const legal = {
  'legal.user_agreement':
    '# Terms of use\n\nThis gateway is run for the members of the studio.\n\n## What you may do\n\n- Make videos for **our** productions\n- Share results with the team\n\n## What it costs\n\nPrices are on the [models page](/models). Failed tasks are refunded.',
  'legal.privacy_policy':
    '# Privacy\n\nPrompts and results are kept for 90 days.\n\n1. Nothing is sold.\n2. Vendors see your prompts.',
};

/** Needs a gateway with its root account and a running demo vendor. */
export async function fillGateway(
  gateway: Gateway,
  admin: Administrator,
  { vendor, market }: { vendor: VendorProcess; market: MarketServer },
): Promise<Filled> {
  const channelId = await admin.createChannel(vendor.url, { name: 'Demo studio', priority: 10 });
  await admin.createChannel(vendor.url, { name: 'Demo studio, second account', priority: 5, weight: 3 });
  await admin.createChannel('https://api.example.com', {
    name: 'Kling (production, paid by the agency)',
    task_plugin_key: 'kling',
    models: ['kling-v1', 'kling-v1-6'],
    status: 2,
    groups: ['default', 'vip'],
  });
  await setOptions(admin);
  for (const [model, expression] of [
    ['demo-video', '0.02 * u("seconds")'],
    ['demo-video-pro', '(u("resolution") == "1080p" ? 0.08 : 0.04) * u("seconds")'],
  ]) {
    await admin.call('PUT', '/api/price', { plugin_key: 'demo', model, expression });
  }
  const users = [];
  for (const person of people) users.push(await admin.createUser(person));
  await admin.createKey({ name: 'Editing room', unlimited_quota: false, quota: 5_000_000 });
  const key = await admin.createKey({ name: 'Render farm', models: ['demo-video', 'demo-video-pro'] });
  const member = await signIn(gateway.url, { username: MEMBER });
  const memberKey = await member.createKey({ name: 'Laptop' });
  const { id: providerId } = await admin.call<{ id: number }>('POST', '/api/custom-oauth-provider', provider);
  const pluginVersion = await storePlugins(admin, market);
  const tasks = await runTasks(gateway, admin, { key, memberKey });
  const backupCode = await turnOnSecondFactor(member);
  return { tasks, userId: users[0] ?? 0, channelId, providerId, pluginVersion, backupCode };
}

const provider = {
  name: 'Studio login',
  slug: 'studio',
  enabled: true,
  client_id: 'taskgate',
  client_secret: 'not a secret',
  authorization_endpoint: 'https://id.example.org/authorize',
  token_endpoint: 'https://id.example.org/token',
  user_info_endpoint: 'https://id.example.org/userinfo',
};

async function setOptions(admin: Administrator): Promise<void> {
  const options = {
    groups: JSON.stringify({ default: 1, vip: 0.8 }),
    RegisterEnabled: 'true',
    GitHubOAuthEnabled: 'true',
    GitHubClientId: 'taskgate',
    GitHubClientSecret: 'not a secret',
    SMTPServer: '127.0.0.1',
    SMTPPort: '2525',
    SMTPFrom: 'gate@example.org',
    ...legal,
  };
  await admin.call('PUT', '/api/option', {
    options: Object.entries(options).map(([key, value]) => ({ key, value })),
  });
}

async function turnOnSecondFactor(member: Administrator): Promise<string> {
  type Factor = { secret: string; backup_codes: string[] };
  const { secret, backup_codes: codes } = await member.call<Factor>('POST', '/api/user/2fa/setup');
  await member.call('POST', '/api/user/2fa/enable', { code: new TOTP({ secret }).generate() });
  return codes[0] ?? '';
}

/** What ships with the gateway under new numbers, with one visible change; plugins of others. */
async function storePlugins(admin: Administrator, market: MarketServer): Promise<string> {
  const { source } = await admin.call<{ source: string }>('GET', '/api/plugin/task/demo');
  const upload = (version: string, text: string) =>
    admin.call('POST', '/api/plugin/task', { source: text, remark: `Demo plugin ${version}` }).then(() => version);
  const numbered = (version: string): string => source.replace(/(version:\s*['"])[^'"]+/, `$1${version}`);
  const renamed = (key: string, name: string): string =>
    source
      .replace("key: 'demo'", `key: '${key}'`)
      .replace("name: 'Demo vendor'", `name: '${name}'`)
      .replaceAll('demo-video', `${key}-video`)
      .replaceAll('/demo/', `/${key}/`);
  publish(market, '/studio', {
    plugins: [
      { key: 'paper', version: '1.2.0', source: renamed('paper', 'Paper films').replace("'1.0.0'", "'1.2.0'") },
      {
        ...{ key: 'nord', version: '0.9.1', source: renamed('nord', 'Nord Motion').replace("'1.0.0'", "'0.9.1'") },
        shown: {
          ...{ name: 'Nord Motion', description: { en: 'Short films of northern landscapes' } },
          models: ['nord-video', 'nord-video-pro'],
        },
      },
    ],
  });
  await admin.call('PUT', '/api/plugin/task/marketplace/sources', [
    { name: 'Studio plugins', index_url: `${market.url}/studio/index.json` },
    { name: 'Offline', index_url: `${market.url}/gone/index.json` },
  ]);
  await upload('9.0.0', numbered('9.0.0'));
  return upload('9.1.0', `${numbered('9.1.0')}\n// Read twice before this serves.\n`);
}

type Keys = { key: string; memberKey: string };

async function runTasks(gateway: Gateway, admin: Administrator, { key, memberKey }: Keys): Promise<Filled['tasks']> {
  const send = (prompt: string, { model = 'demo-video', seconds = 5, as = key, image = '' } = {}) =>
    ask(`${gateway.url}/v1/tasks/demo`, { token: as, body: { model, prompt, seconds, ...(image && { image }) } });
  const submit = async (...order: Parameters<typeof send>): Promise<string> => {
    const { status, body } = await send(...order);
    if (status !== 200) throw new Error(`a submission was answered ${status}: ${JSON.stringify(body)}`);
    return String(body.id);
  };
  for (let n = 0; n < PAST_TASKS; n += 1) {
    const prompt = `${prompts[n % prompts.length]}${n % 9 === 4 ? ' [fail]' : ''} [duration=0.3]`;
    const model = n % 3 === 0 ? 'demo-video-pro' : 'demo-video';
    await submit(prompt, { model, seconds: 3 + (n % 6), as: n % 4 === 1 ? memberKey : key });
  }
  const finished = await submit(`${prompts[0]} [duration=0.3]`, { image: FRAME });
  const failed = await submit('A castle made of clouds [fail]');
  await send('Something that no vendor draws [submit=400]');
  const running = await submit('A forest that grows in one minute [duration=3600]');
  await until('one task is left', async () => {
    const { totals } = await admin.call<{ totals: { running: number } }>('GET', '/api/stats?scope=all');
    return totals.running === 1;
  });
  const { items } = await admin.call<{ items: { id: string }[] }>('GET', '/api/task?q=no%20vendor%20draws');
  return { finished, failed, refused: items[0]?.id ?? '', running };
}
