import { dialogOpens, fromMenu, inOrder, type PanelState, press, type Scene } from './state.ts';

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
const none = { waiting: 0, abandoned: 0, resting_until: 0, rest_reason: '' };

/** A channel whose account is full, rests in part, and has abandoned slots. */
const showFullAccount = ({ page, filled }: Scene) =>
  page.route(`**/api/channel/${filled.channelId}`, async (route) => {
    const { data } = (await (await route.fetch()).json()) as { data: object };
    const models = [
      { model: 'demo-video', running: 4, limit: 5, learned: true, limit_reason: 'refused', ...none, abandoned: 1 },
      {
        ...{ model: 'demo-video-pro', running: 1, limit: 8, learned: true, limit_reason: 'grown', ...none },
        ...{ resting_until: inSeconds(70), rest_reason: 'rate' },
      },
    ];
    const whole = { running: 5, limit: 10, learned: false, limit_reason: '', ...none, waiting: 1284, abandoned: 1 };
    const capacity = { ...whole, models };
    await route.fulfill({ json: { success: true, data: { ...data, capacity } } });
  });

const showRefusedKey = ({ page, filled }: Scene) =>
  page.route(`**/api/channel/${filled.channelId}`, async (route) => {
    const { data } = (await (await route.fetch()).json()) as { data: { capacity: object } };
    const rest = { rest_reason: 'credential', resting_until: inSeconds(4200), resting_since: inSeconds(-5400) };
    const capacity = { ...data.capacity, ...rest, rest_step: 3 };
    await route.fulfill({ json: { success: true, data: { ...data, capacity } } });
  });

async function showKey({ page, text }: Scene): Promise<void> {
  await page.getByRole('button', { name: text('keys.actionsOf', { name: '' }).trim() }).click();
  await page.getByRole('menuitem', { name: text('channels.keyShow'), exact: true }).click();
}

/** A channel with three keys, of which one rests since its account is used up. */
async function showAccounts({ page, filled }: Scene): Promise<void> {
  const path = `**/api/channel/${filled.channelId}`;
  const rest = {
    resting_until: inSeconds(3000),
    resting_since: inSeconds(-5400),
    rest_reason: 'balance',
    rest_step: 3,
  };
  const awake = { resting_until: 0, resting_since: 0, rest_reason: '', rest_step: 0 };
  const fault = { reason: 'tasks.vendor_quota_exhausted', params: {} };
  await page.route(path, async (route) => {
    const { data } = (await (await route.fetch()).json()) as {
      data: { capacity: object; credentials: object[] };
    };
    const key = { ...data.credentials[0], last_error: '', last_error_sentence: null, last_error_at: 0 };
    const balance = { usd: 12.4, read_at: inSeconds(-600), fault: null };
    const credentials = [
      {
        ...{ ...key, id: 1, label: 'Studio', key_hint: 'a1b2', running: 3, used_quota: 2_060_000, balance },
        told_limits: { max_running: 5 },
      },
      {
        ...{ ...key, id: 2, label: 'Studio, second account of the agency', key_hint: 'c3d4', running: 0 },
        ...{ used_quota: 910_000, balance: { ...balance, usd: 0 } },
        ...{ last_error: 'The account at the vendor is used up.', last_error_sentence: fault },
        last_error_at: inSeconds(-5400),
      },
      { ...key, id: 3, label: '', key_hint: 'e5f6', status: 2, running: 0, used_quota: 0, balance },
    ];
    const rests = [awake, rest, awake].map((each, index) => ({ id: index + 1, ...each }));
    const capacity = { ...data.capacity, credentials: rests };
    await route.fulfill({ json: { success: true, data: { ...data, credentials, capacity } } });
  });
  await page.route(`${path}/history**`, async (route) => {
    const { data } = (await (await route.fetch()).json()) as { data: object };
    const events = [
      { what: 'tried', reason: 'balance', until: inSeconds(3000), credential_id: 2, model: '' },
      { what: 'rested', reason: 'balance', until: inSeconds(-1800), credential_id: 2, model: '' },
      { what: 'back', reason: 'rate', until: 0, credential_id: 0, model: 'demo-video-pro' },
      { what: 'rested', reason: 'rate', until: inSeconds(-5400), credential_id: 0, model: 'demo-video-pro' },
    ];
    const rests = events.map((event, index) => ({ ...event, id: 9 - index, at: inSeconds(-1800 * (index + 1)) }));
    await route.fulfill({ json: { success: true, data: { ...data, rests } } });
  });
}

async function raisePrices({ page, text }: Scene): Promise<void> {
  await page.locator('main thead input[type=checkbox]').check();
  await page.getByRole('button', { name: `${text('sheet.apply')}: ${text('sheet.percent')}` }).click();
}

/** What administrators make: channels, plugins, prices, users. */
export const gatewayStates: readonly PanelState[] = [
  { name: 'channels-empty', path: '/channels', age: 'empty' },
  { name: 'channels', path: '/channels' },
  { name: 'channel-new', path: '/channels/new' },
  { name: 'channel', path: ({ channelId }) => `/channels/${channelId}` },
  { name: 'channel-full', path: ({ channelId }) => `/channels/${channelId}`, before: showFullAccount },
  { name: 'channel-refused', path: ({ channelId }) => `/channels/${channelId}`, before: showRefusedKey },
  { name: 'channel-pauses', path: ({ channelId }) => `/channels/${channelId}`, before: showAccounts },
  { name: 'channel-accounts', path: ({ channelId }) => `/channels/${channelId}?tab=settings`, before: showAccounts },
  { name: 'channel-made', path: ({ channelId }) => `/channels/${channelId}?new=1` },
  { name: 'channel-settings', path: ({ channelId }) => `/channels/${channelId}?tab=settings` },
  {
    name: 'channel-changed',
    path: ({ channelId }) => `/channels/${channelId}?tab=settings`,
    act: ({ page, text }) => page.getByLabel(text('channels.weight'), { exact: true }).fill('3'),
    isWindow: true,
  },
  {
    name: 'channel-menu',
    path: ({ channelId }) => `/channels/${channelId}`,
    act: inOrder(press('app.more'), ({ page }) => page.getByRole('menu').waitFor()),
    isWindow: true,
  },
  {
    name: 'channel-proof',
    path: ({ channelId }) => `/channels/${channelId}?tab=settings`,
    act: inOrder(showKey, dialogOpens),
  },
  {
    name: 'channel-delete',
    path: ({ channelId }) => `/channels/${channelId}`,
    act: fromMenu('channels.deleteAction'),
  },
  { name: 'channel-missing', path: '/channels/999' },

  { name: 'plugins', path: '/plugins' },
  { name: 'plugin-upload', path: '/plugins', act: inOrder(press('plugins.upload'), dialogOpens) },
  { name: 'plugin', path: '/plugins/demo' },
  { name: 'plugin-versions', path: '/plugins/demo?tab=versions' },
  { name: 'plugin-source', path: '/plugins/demo?tab=source' },
  { name: 'plugin-prices', path: '/plugins/demo?tab=prices' },
  { name: 'plugin-dryrun', path: '/plugins/demo?tab=dryrun' },
  {
    name: 'plugin-dryrun-result',
    path: '/plugins/demo?tab=dryrun',
    act: inOrder(press('plugins.dryrun.run'), ({ page }) => page.locator('main form [role=status]').waitFor()),
  },
  { name: 'plugin-activate', path: ({ pluginVersion }) => `/plugins/demo/activate?version=${pluginVersion}` },
  { name: 'plugin-diff', path: ({ pluginVersion }) => `/plugins/demo/diff?version=${pluginVersion}` },
  { name: 'plugin-move', path: '/plugins/demo/move?to=kling' },
  { name: 'plugin-missing', path: '/plugins/gone' },
  { name: 'marketplace-empty', path: '/marketplace', age: 'empty' },
  { name: 'marketplace', path: '/marketplace' },
  { name: 'marketplace-plugin', path: '/marketplace/Studio%20plugins/paper' },
  { name: 'marketplace-sources', path: '/marketplace', act: inOrder(press('market.sources'), dialogOpens) },

  { name: 'prices-empty', path: '/prices', age: 'empty' },
  { name: 'prices', path: '/prices' },
  { name: 'price-new', path: '/prices', act: inOrder(press('prices.add'), dialogOpens) },
  { name: 'prices-of-plugin', path: '/prices/demo' },
  { name: 'price-sheet', path: '/prices/sheet' },
  { name: 'price-sheet-changed', path: '/prices/sheet', act: raisePrices, isWindow: true },
  {
    name: 'price-sheet-compared',
    path: '/prices/sheet',
    isWindow: true,
    act: inOrder(raisePrices, press('replay.run'), ({ page, text }) => page.getByText(text('replay.bills')).waitFor()),
  },
  { name: 'case-of-channel', path: ({ channelId }) => `/case/channel/${channelId}` },

  { name: 'users-empty', path: '/users', age: 'empty' },
  { name: 'users', path: '/users' },
  { name: 'users-none', path: '/users?keyword=nobody-like-this' },
  { name: 'user-new', path: '/users', act: inOrder(press('users.add'), dialogOpens) },
  { name: 'user', path: ({ userId }) => `/users/${userId}` },
  { name: 'user-spend', path: ({ userId }) => `/users/${userId}?tab=spend` },
  { name: 'user-tasks', path: ({ userId }) => `/users/${userId}?tab=tasks` },
  { name: 'user-keys', path: ({ userId }) => `/users/${userId}?tab=keys` },
  { name: 'user-balance', path: ({ userId }) => `/users/${userId}?tab=balance` },
  {
    name: 'user-money',
    path: ({ userId }) => `/users/${userId}`,
    act: inOrder(press('users.changeBalance'), dialogOpens),
  },
  {
    name: 'user-password',
    path: ({ userId }) => `/users/${userId}`,
    act: inOrder(press('users.changePassword'), dialogOpens, press('users.generatePassword')),
  },
  { name: 'user-missing', path: '/users/999' },
];
