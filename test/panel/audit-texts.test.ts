/** What the audit log and the system page make of what the server writes. */
import { expect, test } from 'bun:test';
import { listLanguages, readTexts } from '../../scripts/check-texts.ts';
import type { AttentionItem } from '../../src/panel/api/types.ts';
import { listChanges, listFacts } from '../../src/panel/pages/audit/audit-cells.tsx';
import { describeValues, nameField, readPlainPrice } from '../../src/panel/pages/audit/audit-fields.ts';
import { actionTexts, areaTexts, signInNames, signInTexts } from '../../src/panel/pages/audit/audit-texts.ts';
import { findHealthProblems } from '../../src/panel/pages/system/health-problems.ts';
import { AUDIT_ACTIONS } from '../../src/store/ports/index.ts';

test('every action of the audit log, and the area that it is filtered by, has a text in each language', () => {
  const texts = { ...actionTexts, ...signInTexts };
  expect(Object.keys(texts).toSorted()).toEqual([...AUDIT_ACTIONS].toSorted());
  expect(Object.keys(signInNames)).toEqual(Object.keys(signInTexts));
  const areas = new Set(AUDIT_ACTIONS.map((action) => action.split('.')[0]));
  expect(Object.keys(areaTexts).toSorted()).toEqual([...areas].toSorted() as string[]);
  const used = [...Object.values(texts), ...Object.values(areaTexts), ...Object.values(signInNames)];
  for (const language of listLanguages()) {
    const written = readTexts(language) as Record<string, string>;
    expect([language, used.filter((key) => !written[key])]).toEqual([language, []]);
    const options = Object.values({ ...actionTexts, ...signInNames }).map((key) => written[key] ?? '');
    expect([language, options.filter((option) => option.includes('{{'))]).toEqual([language, []]);
  }
});

test('the system page marks the figures that the home page complains about', () => {
  const items = ['polls_late', 'disk_low', 'plugin_suspended'].map((code) => ({ code }) as AttentionItem);
  const marked = (found: readonly AttentionItem[]) =>
    Object.entries(findHealthProblems(found)).flatMap(([name, isProblem]) => (isProblem ? [name] : []));
  expect(marked([])).toEqual([]);
  expect(marked(items)).toEqual(['lateness', 'suspended']);
});

test.each([
  [{ before: { a: 1, b: 2 }, after: { a: 1, b: 3 } }, [{ field: 'b', before: '2', after: '3' }], []],
  [
    { before: { name: 'a', updated_at: 1_795_336_366 }, after: { name: 'b', updated_at: 1_795_336_367 } },
    [{ field: 'name', before: 'a', after: 'b' }],
    [],
  ],
  [{ before: 'on', after: '' }, [{ field: '', before: 'on', after: undefined }], []],
  [
    { before: { models: ['x', 'y'] }, after: {}, key_changed: true },
    [{ field: 'models', before: 'x, y', after: undefined }],
    [{ field: 'key_changed', value: 'true' }],
  ],
  [{ after: { name: 'new', remark: '' } }, [], [{ field: 'name', value: 'new' }]],
  [
    { before: { name: 'gone', created_at: 1_795_336_366, tested_at: 0 } },
    [],
    [
      { field: 'name', value: 'gone' },
      { field: 'created_at', value: 'at 1795336366' },
    ],
  ],
  [
    { before: { expires_at: 0 }, after: { expires_at: 1_795_336_366 } },
    [{ field: 'expires_at', before: undefined, after: 'at 1795336366' }],
    [],
  ],
  [{ before: null, after: { expression: '1', updated_at: 0 } }, [], [{ field: 'expression', value: '1' }]],
  [{ before: null, after: ['x'] }, [{ field: '', before: undefined, after: 'x' }], []],
  [{}, [], []],
])('audit diff of %j', (detail, changes, facts) => {
  const says = { time: (seconds: number): string => `at ${seconds}`, value: () => undefined };
  expect(listChanges(detail, says)).toEqual(changes);
  expect(listFacts(detail, says)).toEqual(facts);
});

test.each([
  ['user.quota', 'user:2', 'quota', 500_000, 'users.balance', '$1'],
  ['user.quota', 'user:2', 'reason', 'topup', 'users.balance.reason', 'ledger.kind.topup'],
  ['user.create', 'user:2', 'role', 10, 'users.role', 'role.admin'],
  ['user.disable', 'user:2', 'status', 2, 'users.status', 'users.disabled'],
  ['option.set', 'option:QuotaForNewUser', '', '500000', null, '$1'],
  ['option.set', 'option:RegisterEnabled', '', 'false', null, 'app.no'],
  ['api_key.create', 'api_key:3', 'unlimited_quota', true, 'keys.budget', 'keys.budget.account'],
  ['auth.login_failed', 'user:2', 'reason', 'invalid_credentials', 'channels.reason', 'error.credentials'],
  ['api_key.create', 'api_key:3', 'keep_results', true, 'keys.keepResults', 'app.yes'],
  ['channel.update', 'channel:1', 'status', 2, 'channels.service', 'channels.keyOff'],
  ['channel.test', 'channel:1', 'ok', true, null, 'trial.stepPassed'],
  ['auth.factor_failed', 'user:2', 'reason', 'code_invalid', 'channels.reason', 'audit.reason.code_invalid'],
  ['api_key.create', 'api_key:3', 'quota', 5_000_000, 'keys.budget', '$10'],
  ['api_key.update', 'api_key:3', 'budget', { amount: 500_000, period: 'day' }, 'keys.recurring', '$1 · limit.day'],
  ['user.update', 'user:2', 'budget', '500000 a month', 'limit.label', '$1 · limit.month'],
  ['api_key.update', 'api_key:3', 'status', 2, 'keys.status', 'keys.status.disabled'],
  ['task.submit', 'task:1', 'quota', 50_000, 'task.ledger.reserve', '$0.1'],
  ['task.cancel', 'task:1', 'user_id', 2, 'tasks.column.user', '#2'],
  ['plugin.upload', 'plugin:a@1', 'active', false, 'plugins.serves', 'audit.notActivated'],
  ['plugin.activate', 'plugin:a@1', 'source_hash', 'ab', null, undefined],
])('%s of %s says its %s %p in the words of its page', (action, target, field, value, name, said) => {
  const t = ((key: string) => key) as never;
  expect(nameField({ action } as never, field, t)).toBe(name as never);
  const money = (quota: number): string => `$${quota / 500_000}`;
  expect(describeValues({ action, target } as never, { t, money })(field, value)).toBe(said as never);
});

test.each([
  ['0.02', [0.02], {}],
  ['0.02 * u("seconds")', [0.02], { seconds: 'second' }],
  ['3 * u("tokens") / 1000000', [0.000003], { tokens: 'token' }],
  ['(u("size") == "a" ? 0.02 : u("size") == "b" ? 0.04 : 0.08) * u("images")', [0.02, 0.04, 0.08], { images: 'count' }],
])('the price %s is read as amounts', (expression, amounts, units) => {
  const price = readPlainPrice(expression);
  expect(price?.units).toEqual(units);
  expect(price?.summary.kind === 'table' && price.summary.rates.map(({ usd }) => usd)).toEqual(amounts);
});

test.each(['0.02 * u("seconds") + 1', 'max(1, u("seconds")) * 0.1', '', '(0.1) * (0.2)'])(
  'the price %p stays a formula',
  (expression) => expect(readPlainPrice(expression)).toBeNull(),
);
