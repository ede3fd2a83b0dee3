import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Glob } from 'bun';
import { matchPath } from 'react-router';
import { findTextPart } from '../../scripts/build-panel.ts';
import {
  completeTexts,
  findTextFaults,
  findUntranslated,
  listLanguages,
  wantedTexts,
} from '../../scripts/check-texts.ts';
import { parseUserAgent } from '../../src/kernel/index.ts';
import en from '../../src/panel/i18n/en.json';
import { validatePassword, validateUsername } from '../../src/panel/pages/accounts/validate-account.ts';
import { readSetupToken } from '../../src/panel/pages/setup/setup-token.ts';
import { canDo } from '../../src/panel/pages/tasks/bulk/run-each.ts';
import { isRefusedByVendor, tookSeconds } from '../../src/panel/pages/tasks/read-task.ts';
import { safeRedirect } from '../../src/panel/session/panel-address.ts';
import { chooseMark } from '../../src/panel/ui/display/plugin-icon.tsx';
import { pendingValues } from '../../src/panel/ui/form/use-filters.ts';
import { groupFor, OPTION_KEYS } from '../../src/settings/catalogue/option-catalogue.ts';
import { panelStates } from '../support/panel-states/walk-states.ts';
import { speak } from './speak.ts';

test('a task that no vendor had, or that runs, took no time', () => {
  const ended = { status: 'FAILURE', submit_time: 100, finish_time: 130 } as const;
  expect(tookSeconds(ended)).toBe(30);
  expect(tookSeconds({ ...ended, submit_time: 0 })).toBeNull();
  expect(tookSeconds({ ...ended, status: 'IN_PROGRESS' })).toBeNull();
});

test('a refusal by the vendor is told from a failure, and from what concerns its account', () => {
  type Task = Parameters<typeof isRefusedByVendor>[0];
  const failed = (reason: string | undefined, status?: number, submit_time = 0): Task => ({
    ...{ status: 'FAILURE', submit_time, timeline: [] },
    fail_reason_sentence: reason === undefined ? null : { reason, params: status === undefined ? {} : { status } },
  });
  for (const task of [failed('tasks.vendor_said', 400), failed('tasks.content_policy_violation'), failed('plugin')])
    expect(isRefusedByVendor(task)).toBe(true);
  for (const task of [
    failed('tasks.vendor_said', 429),
    failed('tasks.vendor_said', 503),
    failed('plugin', undefined, 100),
    failed('tasks.timed_out'),
    failed(undefined),
  ])
    expect(isRefusedByVendor(task)).toBe(false);
});

test('only a task that no vendor has can be cancelled', () => {
  type Task = Parameters<typeof canDo>[1];
  const task = { status: 'QUEUED', submit_time: 0 } as Task;
  expect(canDo('cancel', task, 1)).toBe(true);
  expect(canDo('cancel', { ...task, submit_time: 100 }, 1)).toBe(false);
  expect(canDo('cancel', { ...task, status: 'FAILURE' }, 1)).toBe(false);
});

describe('languages', () => {
  test.each(listLanguages())('%s has no surplus text, and has the placeholders of the English ones', (language) =>
    expect(findTextFaults(language)).toEqual([]),
  );

  test('a text that a language lacks is shown in English', async () => {
    const english = { 'a.b': 'Only here', 'a.c': 'Both', 'a.days_one': 'One day', 'a.days_other': '{{count}} days' };
    const german = completeTexts('de', { 'a.c': 'Beide' }, english);
    const portuguese = completeTexts('pt', { 'a.days_one': 'Um dia', 'a.days_other': '{{count}} dias' }, english);
    const [de, pt] = [await speak('de', german), await speak('pt', portuguese)];
    const say = (t: typeof de, key: string, values = {}): string =>
      (t as (key: string, values: object) => string)(key, values);
    expect([say(de, 'a.b'), say(de, 'a.c'), say(de, 'a.days', { count: 1 })]).toEqual([
      'Only here',
      'Beide',
      'One day',
    ]);
    expect(say(de, 'a.days', { count: 3 })).toBe('3 days');
    expect(say(pt, 'a.days', { count: 2_000_000 })).toBe('2000000 dias');
  });

  test('a counted text has the plural categories of the language', () => {
    const english = { 'a.days_one': 'One day', 'a.days_other': '{{count}} days', 'a.only_one': 'Only one' };
    expect(Object.keys(wantedTexts('de', english))).toEqual(['a.days_one', 'a.days_other', 'a.only_one']);
    expect(Object.keys(wantedTexts('ja', english))).toEqual(['a.days_other', 'a.only_one']);
    const portuguese = wantedTexts('pt', english);
    expect(portuguese['a.days_many']).toBe('{{count}} days');
    expect(portuguese['a.days_one']).toBe('One day');
  });

  test('a text of a factory plugin that lacks a language is found, wherever the contract takes one', () => {
    const [both, english] = [{ en: 'Duration', de: 'Dauer' }, { en: 'Duration' }];
    const plugin = {
      meta: {
        name: 'Any',
        description: 'English alone',
        usageSchema: {
          seconds: { type: 'number', unit: 'count', unitLabel: english, description: both },
          kind: { enum: ['a', 'b'], enumLabels: { a: both, b: 'Song' } },
          size: { enum: ['720p'], enumLabels: { '720p': '1280x720, 720x1280' } },
        },
        // These are texts of one language by the contract.
        usageExamples: [{ label: '5 s', facts: {} }],
        usageProfiles: [{ models: ['x'], schema: { s: { type: 'boolean', description: { en: 'Sound', de: '' } } } }],
      },
      vendorInfo: {
        ...{ keyFormat: 'sk-…', keyHelp: english, labels: { seconds: both, kind: english } },
        inputs: { voice: { type: 'text', description: english } },
        examples: [{ label: english, request: { prompt: 'a boat' } }],
      },
    };
    expect(findUntranslated(plugin, ['de', 'en'])).toEqual([
      '/meta/description: de',
      '/meta/usageSchema/seconds/unitLabel: de',
      '/meta/usageSchema/kind/enumLabels/b: de',
      '/meta/usageProfiles/0/schema/s/description: de',
      '/vendorInfo/keyHelp: de',
      '/vendorInfo/labels/kind: de',
      '/vendorInfo/inputs/voice/description: de',
      '/vendorInfo/examples/0/label: de',
    ]);
  });
});

test('pages before sign-in use only texts of the first chunk', () => {
  const before = [
    'src/panel/pages/{sign-in,accounts,oauth}/*.{ts,tsx}',
    'src/panel/pages/not-found-page.tsx',
    'src/panel/session/{passkeys,session-context}.{ts,tsx}',
    'src/panel/routes/guards.tsx',
    'src/panel/api/error-message.ts',
    'src/panel/ui/*/{query-result,choice-menu,connection-notice,copy-field,error-boundary,error-notice,full-page,page-controls,page-heading,welcome-layout}.tsx',
  ];
  const root = new URL('../..', import.meta.url).pathname;
  const files = before
    .flatMap((pattern) => [...new Glob(pattern).scanSync(root)])
    // Used only by the security page.
    .filter((file) => !file.endsWith('/bind-in-popup.ts'));
  expect(files.length).toBeGreaterThan(30);
  const late = files.flatMap((file) =>
    [...readFileSync(`${root}/${file}`, 'utf8').matchAll(/'([a-z]+[A-Za-z]*\.[A-Za-z.]+)'/g)]
      .map(([, key]) => key ?? '')
      .filter((key) => key in en && findTextPart(key) !== 'first')
      .map((key) => `${file}: ${key}`),
  );
  expect(late).toEqual([]);
});

test('texts of a part are used only by pages that load it', () => {
  const root = new URL('../..', import.meta.url).pathname;
  const pages = {
    administration: /^src\/panel\/pages\/(channels|users|plugins|marketplace|prices|settings|audit|system)\//,
    settings: /^src\/panel\/pages\/(marketplace|settings|audit)\//,
    account: /^src\/panel\/pages\/(notifications|profile|security)\//,
    playground: /^src\/panel\/pages\/(models|playground)\//,
    reference: /^src\/panel\/pages\/reference\//,
  };
  const foreign = [...new Glob('src/panel/**/*.{ts,tsx}').scanSync(root)].flatMap((file) =>
    [...readFileSync(`${root}/${file}`, 'utf8').matchAll(/['"`]([a-z]+\.[a-z$][\w.${}]*)['"`]/g)]
      .map(([, key = '']) => ({ key, part: findTextPart(key) }))
      // A scope of Security Proof, no text.
      .filter(({ key }) => key !== 'settings.security')
      .filter(({ part }) => part in pages && !pages[part as keyof typeof pages].test(file))
      .map(({ key }) => `${file}: ${key}`),
  );
  expect(foreign).toEqual([]);
});

test('screenshots show every page', () => {
  const routes = readFileSync(new URL('../../src/panel/routes/app-routes.tsx', import.meta.url), 'utf8');
  const pages = [...routes.matchAll(/path="([^"]+)"/g)].map(([, path]) => path ?? '');
  const tasks = { finished: 'a', failed: 'b', refused: 'c', running: 'd' };
  const filled = { tasks, userId: 2, channelId: 1, providerId: 1, pluginVersion: '9.1.0', backupCode: '' };
  const shown = panelStates.map(({ path }) => (typeof path === 'string' ? path : path(filled)));
  expect(pages.filter((page) => !shown.some((path) => matchPath(page, path.split('?')[0] ?? '') !== null))).toEqual([]);
});

describe('redirect after sign-in', () => {
  test.each([
    ['/', '/'],
    ['/tasks?page=2#row', '/tasks?page=2#row'],
    [null, '/'],
    ['', '/'],
    ['tasks', '/'],
  ])('%p → %p', (target, expected) => expect(safeRedirect(target)).toBe(expected));

  test.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
    '/\t/evil.example',
    '/..//evil.example',
  ])('open redirect: %p leads to the start page', (target) => {
    const url = new URL(safeRedirect(target), 'http://panel.test');
    expect(url.origin).toBe('http://panel.test');
  });
});

describe('setup link', () => {
  test.each([
    ['http://localhost:3000/setup#token=aB3-_', 'aB3-_'],
    ['  #token=aB3 ', 'aB3'],
    ['aB3-_x', 'aB3-_x'],
    ['#token=a%2Bb', 'a+b'],
    ['http://localhost:3000/setup', ''],
    ['two words', ''],
    ['', ''],
  ])('%p gives %p', (text, token) => expect(readSetupToken(text)).toBe(token));
});

describe('account rules', () => {
  test.each(['root', 'a', 'A.b_c-9', 'x'.repeat(32)])('name %p is valid', (name) =>
    expect(validateUsername(name)).toBeNull(),
  );
  test.each(['', 'x'.repeat(33), 'two words', 'é', 'a/b'])('name %p is invalid', (name) =>
    expect(validateUsername(name)).not.toBeNull(),
  );
  test('passwords have 8 to 128 characters, counted by code point', () => {
    expect(validatePassword('1234567')).toBe('setup.passwordTooShort');
    expect(validatePassword('12345678')).toBeNull();
    expect(validatePassword('密'.repeat(8))).toBeNull();
    expect(validatePassword('x'.repeat(129))).toBe('setup.passwordTooLong');
  });
});

test.each([
  [['', 'a'], 'a', ['a']],
  // The page was slow: more was typed and sent before this came back.
  [['', 'a', 'ab'], 'a', ['a', 'ab']],
  [['', 'a', 'ab'], 'ab', ['ab']],
  [['', 'a', ''], '', ['']],
  [['a', 'ab'], '', null],
])('of the sent values %p, %p came back: %p are pending', (sent, value, pending) =>
  expect(pendingValues(sent, value)).toEqual(pending),
);

test('user agents are parsed to browser and system', () => {
  const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
  expect(parseUserAgent(firefox)).toEqual({ browser: 'Firefox', system: 'Windows' });
  expect(parseUserAgent('curl/8.5')).toBeNull();
});

describe('the mark of a plugin', () => {
  test.each([
    ['Paper films', undefined, 'Pa'],
    ['Paper films', 'text', 'Pa'],
    ['paper films', 'text:', 'pa'],
    ['ﬁlm 100', 'text', 'ﬁl'],
    ['🎬🎞 films', 'text', '🎬🎞'],
    ['X', 'text', 'X'],
    ['Paper films', 'text:AC', 'AC'],
    ['Paper films', 'NoSuchVendor.Color', 'Pa'],
    ['Paper films', 'constructor', 'Pa'],
    ['Paper films', 'https://evil.example/kling.svg', 'Pa'],
  ])('%p with the icon %p: the initials %p', (name, icon, initials) =>
    expect(chooseMark(name, icon)).toEqual({ initials }),
  );

  test.each([
    ['Kling', 'kling-color'],
    ['Kling.Color', 'kling-color'],
    ['OpenAI', 'openai'],
    ["OpenAI.Avatar.type={'platform'}", 'openai'],
    ['AlibabaCloud.Color', 'alibabacloud-color'],
    ['gemini', 'gemini-color'],
  ])('the icon %p: the picture %p', (icon, file) =>
    expect(chooseMark('Paper films', icon)).toEqual({ picture: expect.stringContaining(`/${file}.svg`) }),
  );
});

test('every option and every group of options has its texts', () => {
  const wanted = [
    ...OPTION_KEYS.flatMap((key) => [`option.${key}`, `option.${key}.help`]),
    ...new Set(OPTION_KEYS.map((key) => `settings.group.${groupFor(key)}`)),
  ];
  const missing = wanted.filter((key) => !Object.hasOwn(en, key));
  expect(missing.map((key) => `add "${key}" to src/panel/i18n/en.json`)).toEqual([]);
  const texts = Object.keys(en).filter((key) => key.startsWith('option.'));
  expect(texts.filter((key) => !wanted.includes(key)).map((key) => `remove "${key}"`)).toEqual([]);
});
