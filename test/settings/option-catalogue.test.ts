/** Every option with its type, its default, and values that its rule accepts and refuses. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOptionKey, OPTION_KEYS, ruleFor } from '../../src/settings/catalogue/option-catalogue.ts';
import type { OptionType } from '../../src/settings/catalogue/option-rule.ts';
import { makePng, pngChunk } from '../support/still-images.ts';

type Row = [key: string, type: OptionType, initial: string, taken: string[], refused: string[]];

/** As the panel sends a picture. */
const png = (bytes: Uint8Array): string => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;

const FLAGS = { taken: ['true', 'false'], refused: ['', 'TRUE', 'yes', '1', ' true', 'null'] };
const flag = (key: string, initial: boolean): Row => [key, 'boolean', String(initial), FLAGS.taken, FLAGS.refused];

/** `short`: days that are too few for a record. */
const days = (part: string, initial: string, short: string[] = []): Row => [
  `retention.${part}_days`,
  'integer',
  initial,
  ['0', '30', '36500', ...(short.length > 0 ? [] : ['1'])],
  ['', '-1', '36501', '1.5', ...short],
];

const LINES = {
  refused: [
    ...['a\nb', 'a\r\nBcc: x@example.org', '\u0000', 'tab\there', 'x'.repeat(201)],
    // Turned around, and invisible: a name that looks like another.
    ...['Task\u202eetag', 'a\u2066b\u2069', 'Task\u200bgate', 'a\u2028b', '\ufeffTaskgate', 'Taskgate\u200d'],
  ],
};
const identifier = (key: string): Row => [
  key,
  'text',
  '',
  ['', 'Iv1.0123456789abcdef', '0x4AAAAAAA_b-c'],
  ['with space', ' lead', 'trail ', 'naïve', ...LINES.refused],
];
const secret = (key: string): Row => [
  key,
  'secret',
  '',
  ['', 's3cr3t', 'app pass word', 'ünïcödé', 'x'.repeat(1000)],
  [' lead', 'trail ', 'a\nb', '\u0000', 'x'.repeat(1001)],
];

const NO_ADDRESS = [
  'example.org',
  '//example.org',
  'ftp://example.org',
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'https://',
  'https://user:pass@example.org',
  'https://user@example.org',
  'https://example.org#part',
  ' https://example.org',
  'https://example.org ',
  'https://exam ple.org',
  'https://example.org\n',
  'https:\\\\example.org',
  'https://example.org/\\evil',
  'https://[::1',
  'https://example.org:99999',
  `https://example.org/${'x'.repeat(500)}`,
];
const base = (key: string, initial: string): Row => [
  key,
  'url',
  initial,
  [
    'https://example.org',
    'https://example.org/',
    'http://10.0.0.7:8080',
    'http://[::1]:3000/sub/path',
    'https://münchen.example',
  ],
  [...NO_ADDRESS, 'https://example.org/?a=b', 'https://example.org?', ...(initial === '' ? [] : [''])],
];
const endpoint = (key: string, initial: string): Row => [
  key,
  'url',
  initial,
  ['https://example.org/a', 'http://keycloak:8080/realms/a', 'https://example.org/x?p=policy'],
  [...NO_ADDRESS, ...(initial === '' ? [] : [''])],
];
const whole = (key: string, { initial, low, high }: { initial: number; low: number; high: number }): Row => [
  key,
  'integer',
  String(initial),
  [String(low), String(high)],
  [String(low - 1), String(high + 1), '', ' 5', '1.5', '1e2', '0x10', 'NaN', '99999999999999999999'],
];

const QUOTA = 1_000_000_000_000;
const DOMAINS = 'gmail.com,163.com,126.com,qq.com,outlook.com,hotmail.com,icloud.com,yahoo.com,foxmail.com';

const ROWS: Row[] = [
  ['SystemName', 'text', 'Taskgate', ['Our gate', '门', 'x'.repeat(200)], ['', '   ', ...LINES.refused]],
  [
    ...(['ServerAddress', 'url', ''] satisfies [string, OptionType, string]),
    [
      '',
      'https://example.org',
      'https://example.org/',
      'http://10.0.0.7:8080',
      'http://[::1]:3000',
      'https://münchen.example',
    ],
    [
      ...NO_ADDRESS,
      // The panel is at the root of its host.
      ...[
        'https://example.org/gate',
        'https://example.org/gate/',
        'https://example.org//',
        'https://example.org/.',
        'https://example.org/%2e',
        'http://[::1]:3000/sub/path',
      ],
      ...['https://example.org/?a=b', 'https://example.org?', 'https://example.org/#/', 'https://@example.org'],
    ],
  ],
  base('TaskPublicAddress', ''),

  flag('PasswordLoginEnabled', true),
  flag('RegisterEnabled', false),
  flag('PasswordRegisterEnabled', true),
  flag('EmailVerificationEnabled', false),
  flag('EmailDomainRestrictionEnabled', false),
  [
    'EmailDomainWhitelist',
    'list',
    DOMAINS,
    ['', 'example.org', 'example.org, example.com', 'xn--mnchen-3ya.example', 'intranet'],
    ['@example.org', 'Example.org', 'a..b', 'example.org,', ',', '*.example.org', 'a b', '10.0.0.1', 'x,'.repeat(201)],
  ],
  flag('EmailAliasRestrictionEnabled', false),
  whole('QuotaForNewUser', { initial: 0, low: 0, high: QUOTA }),
  whole('QuotaForInviter', { initial: 0, low: 0, high: QUOTA }),
  whole('QuotaForInvitee', { initial: 0, low: 0, high: QUOTA }),

  [
    'SMTPServer',
    'text',
    '',
    ['', 'mail.example.org', 'mail_server', '10.0.0.7', '::1', 'localhost'],
    ['mail.example.org:587', 'smtp://mail', 'a b', '-x', 'x-', '.x', ...LINES.refused],
  ],
  whole('SMTPPort', { initial: 587, low: 1, high: 65_535 }),
  ['SMTPAccount', 'text', '', ['', 'gate@example.org', 'DOMAIN\\gate'], LINES.refused],
  secret('SMTPToken'),
  [
    'SMTPFrom',
    'text',
    '',
    ['', 'gate@example.org', 'Our gate <gate@example.org>', 'Die Brücke <gate@example.org>', 'root@localhost'],
    [
      'gate',
      '@example.org',
      'gate@',
      'a@b@c',
      'Our gate',
      'Our gate <gate>',
      'a@example.org, b@example.org',
      '<a@b> <c@d>',
      ...LINES.refused,
    ],
  ],
  flag('SMTPSSLEnabled', false),
  flag('SMTPStartTLSEnabled', false),
  flag('SMTPInsecureSkipVerify', false),
  flag('SMTPForceAuthLogin', false),
  ['SMTPHelloName', 'text', '', ['', 'mx', 'mail.example.org', '10.0.0.7', '::1'], ['a b', 'mx:25', ...LINES.refused]],

  flag('alerts.failing_channels', true),
  flag('alerts.low_balance', true),
  whole('alerts.low_balance_default', { initial: 0, low: 0, high: 999_999_999_999_999 }),
  endpoint('alerts.webhook_url', ''),
  [
    'alerts.webhook_secret',
    'secret',
    '',
    ['', `whsec_${'a'.repeat(32)}`, `whsec_${'+/'.repeat(21)}a=`],
    ['whsec_', 'whsec_short', 'a'.repeat(40), `whsec_${'a'.repeat(200)}`, `whsec_${'a-'.repeat(20)}`],
  ],
  flag('alerts.webhook_balances', false),

  flag('TurnstileCheckEnabled', false),
  identifier('TurnstileSiteKey'),
  secret('TurnstileSecretKey'),
  endpoint('TurnstileVerifyUrl', 'https://challenges.cloudflare.com/turnstile/v0/siteverify'),

  flag('GitHubOAuthEnabled', false),
  identifier('GitHubClientId'),
  secret('GitHubClientSecret'),
  base('GitHubBaseUrl', 'https://github.com'),
  base('GitHubApiUrl', 'https://api.github.com'),

  flag('discord.enabled', false),
  identifier('discord.client_id'),
  secret('discord.client_secret'),
  base('discord.base_url', 'https://discord.com'),

  flag('LinuxDOOAuthEnabled', false),
  identifier('LinuxDOClientId'),
  secret('LinuxDOClientSecret'),
  whole('LinuxDOMinimumTrustLevel', { initial: 0, low: 0, high: 4 }),
  base('LinuxDOBaseUrl', 'https://connect.linux.do'),

  flag('oidc.enabled', false),
  ['oidc.display_name', 'text', '', ['', 'Company login'], LINES.refused],
  identifier('oidc.client_id'),
  secret('oidc.client_secret'),
  endpoint('oidc.well_known', ''),
  endpoint('oidc.authorization_endpoint', ''),
  endpoint('oidc.token_endpoint', ''),
  endpoint('oidc.user_info_endpoint', ''),

  flag('TelegramOAuthEnabled', false),
  secret('TelegramBotToken'),
  [
    'TelegramBotName',
    'text',
    '',
    ['', 'gate_bot', 'A1234'],
    ['@gate_bot', 'bot', '1gate_bot', 'gate-bot', 'x'.repeat(33), 'gate bot'],
  ],

  flag('WeChatAuthEnabled', false),
  base('WeChatServerAddress', ''),
  secret('WeChatServerToken'),
  endpoint('WeChatAccountQRCodeImageURL', ''),

  flag('passkey.enabled', true),
  ['passkey.rp_display_name', 'text', '', ['', 'Our gate'], LINES.refused],
  [
    'passkey.rp_id',
    'text',
    '',
    ['', 'example.org', 'localhost'],
    ['https://example.org', 'example.org:3000', 'Example.org', '10.0.0.1', '.', 'a..b'],
  ],
  [
    'passkey.origins',
    'list',
    '',
    ['', 'https://a.example', 'https://a.example,http://localhost:3000', 'https://a.example, https://b.example:8443'],
    [
      'a.example',
      'https://a.example/',
      'https://A.example',
      'https://a.example:443',
      'https://10.0.0.1',
      'https://a.example,',
      'https://a.example,'.repeat(21),
    ],
  ],
  flag('passkey.allow_insecure_origin', false),
  [
    'passkey.user_verification',
    'choice',
    'preferred',
    ['preferred', 'required', 'discouraged'],
    ['', 'Required', 'always'],
  ],
  ['passkey.attachment_preference', 'choice', '', ['', 'platform', 'cross-platform'], ['any', ' platform']],

  flag('ModelRequestRateLimitEnabled', false),
  whole('ModelRequestRateLimitDurationMinutes', { initial: 1, low: 1, high: 1440 }),
  whole('ModelRequestRateLimitCount', { initial: 0, low: 0, high: 1_000_000 }),
  whole('ModelRequestRateLimitSuccessCount', { initial: 1000, low: 1, high: 1_000_000 }),
  ['ModelRequestRateLimitGroup', 'json', '{}', ['{"vip":[0,1]}'], ['', '[]', '{"a":[0,0]}', '{"a":1}']],
  [
    'limits.groups',
    'json',
    '{}',
    ['{"trial":{"requests_per_minute":1,"max_running":1000000}}', '{"a.b":{"max_running":2}}', '{"a":{}}'],
    ['', '[]', '{"a":5}', '{"a":{"max_running":0}}', '{"a":{"max_running":1.5}}', '{"a":{"rpm":1}}', '{"a b":{}}'],
  ],

  whole('queue.max_wait_seconds', { initial: 3600, low: 0, high: 43_200 }),
  whole('queue.max_waiting', { initial: 100_000, low: 1, high: 1_000_000 }),
  whole('queue.max_waiting_per_user', { initial: 1000, low: 1, high: 1_000_000 }),
  whole('queue.max_waiting_bytes', { initial: 10 * 1024 ** 3, low: 0, high: 10 * 1024 ** 4 }),
  [
    'queue.group_limits',
    'json',
    '{}',
    ['{"vip":{"max_wait_seconds":0,"max_waiting":5,"max_waiting_per_user":1,"max_waiting_bytes":9}}'],
    ['', '[]', '{"a":5}', '{"a":{"max_wait_seconds":43201}}', '{"a":{"max_wait":5}}', '{"a":{"max_waiting":1.5}}'],
  ],
  ['queue.group_priorities', 'json', '{}', ['{"vip":10,"slow":-10}'], ['', '[]', '{"a":11}', '{"a":"1"}', '{"a":0.5}']],
  [
    ...(['queue.model_fallbacks', 'json', '{}'] satisfies [string, OptionType, string]),
    ['{"vip":{"a":{"models":["b","c"],"after_seconds":60}},"slow":{"a":{"models":["b"]}}}', '{"vip":{}}'],
    [
      '[]',
      '{"a":{"m":["b"]}}',
      '{"a":{"m":{"models":[]}}}',
      '{"a":{"m":{"models":[" b"]}}}',
      '{"a":{"m":{"models":["b"],"after_seconds":43201}}}',
      '{"a":{"m":{"models":["b"],"after":1}}}',
    ],
  ],

  ['billing.timezone', 'text', 'UTC', ['Asia/Kolkata', 'America/Sao_Paulo'], ['', '+05:30', 'Mars/Olympus', 'Local']],
  [
    'billing.group_budgets',
    'json',
    '{}',
    ['{"trial":{"amount":1,"period":"day"},"a.b":{"amount":5,"period":"total"}}'],
    [
      ...['', '[]', '{"a":5}', '{"a":{"amount":0,"period":"day"}}', '{"a":{"amount":1.5,"period":"day"}}'],
      ...['{"a":{"amount":1,"period":"year"}}', '{"a b":{"amount":1,"period":"day"}}', '{"a":{"amount":1}}'],
    ],
  ],
  ['billing.unpriced', 'choice', 'admins', ['admins', 'everyone', 'nobody'], ['', 'sometimes']],
  ['billing.memory_hold_quota', 'integer', '0', ['0', '500000', '500000000'], ['', '-1', '1.5', '500000001']],
  [
    'groups',
    'json',
    '{"default":1}',
    ['{}', '{"default":1,"vip":0.8}', '{"a.b-c_d":0}', '{"专线":0.5,"官转（特价）":1}'],
    [
      '',
      '{"a\\u200b":1}',
      'nonsense',
      '[]',
      'null',
      '{"default":-1}',
      '{"a":"1"}',
      '{"a b":1}',
      '{"a":1e999}',
      '['.repeat(1000),
    ],
  ],

  ['results.keep_inputs', 'boolean', 'false', ['true'], ['', 'yes']],
  ['results.keep', 'choice', 'off', ['asked', 'all'], ['', 'some']],
  [
    'results.days',
    'json',
    '{"default":0}',
    ['{}', '{"default":30,"vip":0}'],
    ['', '[]', '{"default":-1}', '{"default":1.5}', '{"a b":1}', '{"a":36501}'],
  ],
  ['results.quota_gb', 'json', '{"default":0}', ['{"default":0.5}'], ['', '[]', '{"default":-1}', '{"a":"1"}']],
  ['results.price_gb_day', 'json', '{"default":0}', ['{"vip":0.01}'], ['', '{"vip":-1}', '{"vip":1001}']],
  ['results.previews_mb', 'integer', '256', ['0', '1000000'], ['', '-1', '1000001']],
  ['results.s3_redirect', 'boolean', 'false', ['true'], ['', 'yes']],
  flag('retention.enabled', true),
  ...['prompt', 'request', 'answer'].map((part) => days(part, '90')),
  ...['event', 'task'].map((part) => days(part, '0')),
  ...['usage', 'ledger', 'audit'].map((part) => days(part, '0', ['1', '29'])),
  days('webhook', '7'),
  ['retention.start_hour', 'integer', '2', ['0', '23'], ['24', '-1', '']],
  ['retention.hours', 'integer', '4', ['1', '24'], ['0', '25']],
  flag('backup.daily', false),
  ['backup.hour', 'integer', '3', ['0', '23'], ['24', '-1', '']],
  ['backup.keep_daily', 'integer', '7', ['1', '366'], ['0', '367']],
  ['backup.keep_weekly', 'integer', '4', ['0', '520'], ['-1', '521']],
  ['backup.keep_monthly', 'integer', '6', ['0', '600'], ['-1', '601']],
  ['task_plugin.auto_rollback', 'boolean', 'false', ['true'], ['', 'yes']],
  [
    'task_plugin.marketplace_sources',
    'json',
    '[{"name":"Official","index_url":"https://www.newapi.ai/api/v1/plugins/index.json"},{"name":"GitHub","index_url":"https://raw.githubusercontent.com/QuantumNous/new-api-plugins/main/index.json"}]',
    ['[]', '[{"name":"a","index_url":"http://10.0.0.7/index.json"},{"name":"b","index_url":"file:///srv/market"}]'],
    ['', 'nonsense', '{}', 'null', '[{}]', '[{"name":"a","index_url":"javascript:alert(1)"}]', '['.repeat(1000)],
  ],

  [
    'branding.logo',
    'text',
    '',
    ['', png(makePng()), png(makePng({ width: 512, height: 1 }))],
    [
      png(makePng({ width: 513, height: 1 })),
      png(makePng({ more: [pngChunk('acTL', new Uint8Array(8))] })),
      png(makePng({ more: [pngChunk('tEXt', new Uint8Array(65 * 1024))] })),
      png(makePng().subarray(0, -4)),
      png(Buffer.concat([makePng(), Buffer.from('<script>')])),
      png(Buffer.from('<svg/>')),
      `${png(makePng())} `,
      'data:image/svg+xml;base64,PHN2Zy8+',
      'https://example.org/logo.png',
      'javascript:alert(1)',
    ],
  ],
  ['branding.accent', 'text', '', ['', '#0b784d', '#FFFFFF'], ['red', '#fff', '#0b784d;', 'url(x)', ...LINES.refused]],
  ['branding.notice', 'text', '', ['', 'Line one\nline two'], ['x'.repeat(5001)]],
  ['branding.balance_hint', 'text', '', ['', 'Write to billing@example.org.'], LINES.refused],
  [
    'legal.user_agreement',
    'text',
    '',
    ['', 'Line one\nline two\t<b>', 'x'.repeat(100_000)],
    ['x'.repeat(100_001), 'a\u0000b'],
  ],
  ['legal.privacy_policy', 'text', '', ['', 'Line one\nline two'], ['x'.repeat(100_001), 'a\u0000b']],
  flag('maintenance.enabled', false),
  [
    'maintenance.message',
    'text',
    "We're doing maintenance. Running tasks will finish; please try again in a few minutes.",
    ['Back at 18:00.'],
    ['', ' ', ...LINES.refused],
  ],
  whole('maintenance.retry_after_seconds', { initial: 300, low: 1, high: 86_400 }),
];

describe('the catalogue of options', () => {
  test('holds exactly these options', () => {
    expect<string[]>([...OPTION_KEYS].sort()).toEqual(ROWS.map(([key]) => key).sort());
  });

  test.each(ROWS)('%s', (key, type, initial, taken, refused) => {
    if (!isOptionKey(key)) throw new Error(`${key} is not in the catalogue`);
    const rule = ruleFor(key);
    expect([rule.type, rule.default]).toEqual([type, initial]);
    for (const value of [initial, ...taken]) expect([value, rule.check(value)]).toEqual([value, undefined]);
    for (const value of refused) expect([value, typeof rule.check(value)]).toEqual([value, 'string']);
    // PostgreSQL cannot store this character.
    expect(typeof rule.check('\u0000')).toBe('string');
  });

  test.each(['__proto__', 'constructor', 'toString', 'setup.completed_at', 'systemname', ''])(
    '"%s" is not an option',
    (key) => {
      expect(isOptionKey(key)).toBe(false);
    },
  );

  test('only these options can be changed without a Security Proof', () => {
    expect(OPTION_KEYS.filter((key) => ruleFor(key).proof === 'none')).toEqual([
      'SystemName',
      'maintenance.enabled',
      'maintenance.message',
      'maintenance.retry_after_seconds',
      'branding.logo',
      'branding.accent',
      'branding.notice',
      'branding.balance_hint',
      'QuotaForNewUser',
      'QuotaForInviter',
      'QuotaForInvitee',
      'alerts.failing_channels',
      'alerts.low_balance',
      'alerts.low_balance_default',
      'alerts.webhook_balances',
      'ModelRequestRateLimitEnabled',
      'ModelRequestRateLimitDurationMinutes',
      'ModelRequestRateLimitCount',
      'ModelRequestRateLimitSuccessCount',
      'ModelRequestRateLimitGroup',
      'limits.groups',
      'queue.max_wait_seconds',
      'queue.max_waiting',
      'queue.max_waiting_per_user',
      'queue.max_waiting_bytes',
      'queue.group_limits',
      'queue.group_priorities',
      'queue.model_fallbacks',
      'groups',
      'billing.group_budgets',
      'billing.unpriced',
      'billing.timezone',
      'billing.memory_hold_quota',
      'task_plugin.auto_rollback',
      'results.keep',
      'results.keep_inputs',
      'results.days',
      'results.quota_gb',
      'results.price_gb_day',
      'results.previews_mb',
      'retention.enabled',
      'retention.prompt_days',
      'retention.request_days',
      'retention.answer_days',
      'retention.event_days',
      'retention.task_days',
      'retention.usage_days',
      'retention.ledger_days',
      'retention.webhook_days',
      'retention.start_hour',
      'retention.hours',
      'backup.daily',
      'backup.hour',
      'backup.keep_daily',
      'backup.keep_weekly',
      'backup.keep_monthly',
      'legal.user_agreement',
      'legal.privacy_policy',
    ]);
  });

  test('every option has an effect: code other than the public status reads it', () => {
    const source = new URL('../../src', import.meta.url).pathname;
    const text = [...new Bun.Glob('{app,operations,settings}/**/*.ts').scanSync(source)]
      .filter((file) => !file.endsWith('describe-status.ts') && !/catalogue\/(?!market-sources)/.test(file))
      .map((file) => readFileSync(join(source, file), 'utf8'))
      .join('\n');
    const reads = /(?:\.(?:text|choice|flag|number|list|json|secret)|usable|isUsable)\((?:options, )?'([\w.]+)'/g;
    // A key that several places read has a name.
    const named = /^export const [A-Z_]+ = '([\w.]+)';$/gm;
    const read = new Set([...text.matchAll(reads), ...text.matchAll(named)].map(([, key]) => key));
    expect(OPTION_KEYS.filter((key) => !read.has(key))).toEqual([]);
  });

  test('a rule describes the allowed values and never repeats the given one', () => {
    for (const key of OPTION_KEYS) {
      const wanted = ruleFor(key).check('<never\nsaid>\u0000');
      expect(wanted ?? `nothing for ${key}`).toMatch(/^(?!nothing for).{3}.*[^.]$/);
      expect(wanted).not.toContain('never');
    }
  });
});
