import { dialogOpens, inOrder, type PanelState, press, type Scene } from './state.ts';

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

/** What administrators make: channels, plugins, prices, users. */
export const gatewayStates: readonly PanelState[] = [
  { name: 'channels-empty', path: '/channels', age: 'empty' },
  { name: 'channels', path: '/channels' },
  { name: 'channel-new', path: '/channels/new' },
  { name: 'channel', path: ({ channelId }) => `/channels/${channelId}` },
  { name: 'channel-full', path: ({ channelId }) => `/channels/${channelId}`, before: showFullAccount },
  { name: 'channel-refused', path: ({ channelId }) => `/channels/${channelId}`, before: showRefusedKey },
  { name: 'channel-made', path: ({ channelId }) => `/channels/${channelId}?new=1` },
  { name: 'channel-settings', path: ({ channelId }) => `/channels/${channelId}?tab=settings` },
  {
    name: 'channel-proof',
    path: ({ channelId }) => `/channels/${channelId}?tab=settings`,
    act: inOrder(press('channels.keyShow'), dialogOpens),
  },
  {
    name: 'channel-delete',
    path: ({ channelId }) => `/channels/${channelId}`,
    act: inOrder(press('app.delete'), dialogOpens),
  },
  { name: 'channel-missing', path: '/channels/999' },

  { name: 'plugins', path: '/plugins' },
  { name: 'plugin-upload', path: '/plugins', act: inOrder(press('plugins.upload'), dialogOpens) },
  { name: 'plugin', path: '/plugins/demo' },
  { name: 'plugin-versions', path: '/plugins/demo?tab=versions' },
  { name: 'plugin-source', path: '/plugins/demo?tab=source' },
  { name: 'plugin-prices', path: '/plugins/demo?tab=prices' },
  { name: 'plugin-dryrun', path: '/plugins/demo?tab=dryrun' },
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
    act: inOrder(press('users.setPassword'), dialogOpens),
  },
  { name: 'user-missing', path: '/users/999' },
];
