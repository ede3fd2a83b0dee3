import { dialogOpens, inOrder, type PanelState, press, type Scene } from './state.ts';

const openFirstTile = async ({ page }: Scene) => {
  await page.locator('[data-index="0"]').click();
  await page.getByRole('dialog').waitFor();
};
const chooseTwo = async ({ page }: Scene) => {
  for (const row of [0, 1]) await page.locator('tbody [data-select] input').nth(row).check();
};
const run = async ({ page }: Scene) => {
  await page.locator('main textarea').first().fill('A kite over a harbour [duration=0.3]');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('heading', { level: 2, name: 'demo-video-pro' }).waitFor();
  await page.locator('main video').first().waitFor();
};

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

/** The running task as it was before it was sent. */
const showWaiting = async ({ page, filled }: Scene) => {
  const path = `**/api/task/${filled.tasks.running}`;
  await page.route(`${path}/events`, (route) => route.abort());
  await page.route(path, async (route) => {
    const { data } = (await (await route.fetch()).json()) as { data: object };
    const channels = [{ id: filled.channelId, name: 'Demo studio' }];
    const queue = {
      position: 7,
      waits_for: 'capacity',
      waiting_since: inSeconds(-190),
      estimated_start_at: inSeconds(262),
      channels,
    };
    const timeline = [
      { at: inSeconds(-190), kind: 'created', status: 'NOT_START', class: '', http_status: 0, detail: '50000' },
    ];
    const times = { created_at: queue.waiting_since, submit_time: queue.waiting_since };
    await route.fulfill({ json: { success: true, data: { ...data, ...times, status: 'QUEUED', queue, timeline } } });
  });
};

/** A full account: what waits for it, in the form in which the viewer gets it. */
const showQueue =
  (forAdmin: boolean) =>
  ({ page, filled }: Scene) =>
    page.route('**/api/queue**', async (route) => {
      const { data: own } = (await (await route.fetch()).json()) as { data: object };
      const accounts = [{ id: filled.channelId, name: 'Demo studio' }];
      const items = [
        { input: 'Rain on a tin roof, macro, 24 fps', username: 'mira', api_key_name: 'Editing room', reason: 'full' },
        { input: '清晨的江南水乡，小船缓缓驶过石桥', username: 'jonas', api_key_name: null, reason: 'returned' },
        {
          input: 'A paper boat crossing a puddle that reflects a whole city at night, cinematic, very long prompt',
          ...{ username: 'studio', api_key_name: 'Night shift', reason: 'full' },
        },
        { input: '', username: 'press', api_key_name: null, reason: 'no_channel' },
      ].map((item, index) => ({
        ...{ id: `task_${index}`, model: 'demo-video', platform: 'demo', action: 'text_to_video', api_key_id: 1 },
        ...{ input: item.input, api_key_name: item.api_key_name, position: index === 3 ? 'over 1,000' : index + 1 },
        ...{ waiting_since: inSeconds(-900 + 200 * index), deadline: inSeconds(2700) },
        waits_for: index === 4 ? 'own_limit' : 'capacity',
        estimated_start_at: index === 3 ? null : inSeconds(40 + 60 * index),
        ...(forAdmin
          ? {
              ...{ user_id: 2, username: item.username, group: 'default', returns: 0, is_attached: false },
              channels:
                item.reason === 'no_channel' ? [] : [...accounts, { id: 2, name: 'Demo studio, second account' }],
              ...{ reason: item.reason, reason_until: item.reason === 'returned' ? inSeconds(25) : null },
            }
          : { reason: item.reason === 'no_channel' ? 'no_channel' : 'full', reason_until: null }),
      }));
      const classes = [
        {
          platform: 'demo',
          model: 'demo-video',
          group: 'default',
          waiting: 41,
          running: 5,
          limit: 5,
          channels: accounts,
          reason: 'full',
          reason_until: null,
        },
        {
          platform: 'demo',
          model: 'demo-video-pro',
          group: 'vip',
          waiting: 3,
          running: 2,
          limit: 8,
          channels: accounts,
          reason: 'resting',
          reason_until: inSeconds(95),
        },
      ];
      // Administrators see the first page of it.
      const counts = { page_size: items.length, total: forAdmin ? 44 : items.length };
      const data = { ...own, ...counts, items, classes: forAdmin ? classes : [] };
      await route.fulfill({ json: { success: true, data } });
    });

/** What everybody works with: home, tasks, models, playground, keys, usage. */
export const taskStates: readonly PanelState[] = [
  { name: 'home-empty', path: '/', age: 'empty' },
  { name: 'home', path: '/' },
  { name: 'home-everyone', path: '/?scope=all&days=90' },
  { name: 'home-of-user', path: '/', viewer: 'member' },
  {
    name: 'home-notice',
    path: '/',
    before: ({ page }) =>
      page.route('**/api/status', async (route) => {
        const answer = await route.fetch();
        const body = (await answer.json()) as { data: object };
        await route.fulfill({
          json: { ...body, data: { ...body.data, notice: 'Maintenance on **Sunday**, 8 to 9 am.' } },
        });
      }),
  },

  { name: 'tasks-empty', path: '/tasks', age: 'empty' },
  { name: 'tasks', path: '/tasks' },
  { name: 'tasks-everyone', path: '/tasks?scope=all' },
  { name: 'tasks-chosen', path: '/tasks?scope=all', act: chooseTwo },
  { name: 'tasks-filters', path: '/tasks?scope=all', act: press('tasks.filters') },
  { name: 'tasks-views', path: '/tasks?scope=all', act: press('tasks.views') },
  { name: 'tasks-failed', path: '/tasks?scope=all&status=FAILURE' },
  { name: 'tasks-none', path: '/tasks?q=nothing-like-this' },
  { name: 'gallery', path: '/tasks?scope=all&layout=gallery', isWindow: true },
  { name: 'gallery-viewer', path: '/tasks?scope=all&layout=gallery&status=SUCCESS', act: openFirstTile },
  { name: 'task-finished', path: ({ tasks }) => `/tasks/${tasks.finished}` },
  { name: 'task-failed', path: ({ tasks }) => `/tasks/${tasks.failed}` },
  { name: 'task-refused', path: ({ tasks }) => `/tasks/${tasks.refused}` },
  { name: 'task-running', path: ({ tasks }) => `/tasks/${tasks.running}` },
  { name: 'task-waiting', path: ({ tasks }) => `/tasks/${tasks.running}`, before: showWaiting },
  { name: 'queue-empty', path: '/queue', age: 'empty' },
  { name: 'queue', path: '/queue', before: showQueue(true) },
  { name: 'queue-of-user', path: '/queue', viewer: 'member', before: showQueue(false) },
  { name: 'task-missing', path: '/tasks/task_gone' },

  { name: 'models-empty', path: '/models', age: 'empty' },
  { name: 'models', path: '/models' },
  { name: 'models-list', path: '/models?layout=list' },
  { name: 'case-of-task', path: ({ tasks }) => `/case/task/${tasks.failed}` },
  { name: 'case-link-ended', path: ({ tasks }) => `/shared-case/task/${tasks.failed}#ended` },
  { name: 'case-of-user', path: ({ userId }) => `/case/user/${userId}` },
  { name: 'models-code', path: '/models', act: inOrder(press('models.codeOf', { model: 'demo-video' }), dialogOpens) },
  { name: 'playground-empty', path: '/playground', age: 'empty' },
  {
    name: 'playground-choice',
    path: '/playground',
    act: ({ page, text }) => page.getByRole('combobox', { name: text('play.model'), exact: true }).click(),
  },
  { name: 'playground', path: '/playground?plugin=demo&model=demo-video' },
  {
    name: 'playground-more',
    path: '/playground?plugin=demo&model=demo-video',
    act: ({ page, text }) => page.getByRole('button', { name: text('play.more') }).click(),
  },
  { name: 'playground-result', path: '/playground?plugin=demo&model=demo-video-pro', act: run },

  { name: 'keys-empty', path: '/keys', age: 'empty' },
  { name: 'keys', path: '/keys' },
  { name: 'key-new', path: '/keys/new' },
  {
    name: 'key-made',
    path: '/keys/new',
    act: async ({ page, text }) => {
      await page.getByLabel(text('keys.name'), { exact: true }).fill('Night shift');
      await press('keys.create')({ page, text } as Scene);
      await page.getByRole('heading', { level: 1, name: 'Night shift' }).waitFor();
    },
  },
  { name: 'key', path: '/keys/2' },
  { name: 'key-rotate', path: '/keys/1/rotate' },
  { name: 'key-missing', path: '/keys/999' },
  { name: 'usage-empty', path: '/usage', age: 'empty' },
  { name: 'usage', path: '/usage' },
  { name: 'usage-everyone', path: '/usage?scope=all' },
  { name: 'usage-statement', path: '/usage?tab=statement' },
  {
    name: 'usage-bill',
    path: '/usage',
    act: ({ page }) => page.locator('main table').last().locator('tbody button').first().click(),
  },
  { name: 'reference', path: '/reference' },
  { name: 'reference-operation', path: '/reference#createVideo' },
  {
    name: 'reference-search',
    path: '/reference',
    act: ({ page }) => page.getByRole('searchbox').fill('cancel task'),
  },
  { name: 'reference-signed-out', path: '/reference', viewer: 'nobody' },
];
