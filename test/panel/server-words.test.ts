import { describe, expect, test } from 'bun:test';
import { listLanguages, listRepeatedTexts, readTexts } from '../../scripts/check-texts.ts';
import { readConfig } from '../../src/app/config/config.ts';
import { authErrors } from '../../src/auth/errors.ts';
import { describeCodes } from '../../src/http/openapi/describe-codes.ts';
import { describeBytes, type Sentence, sentence } from '../../src/kernel/index.ts';
import { reasons as catalogue } from '../../src/kernel/reasons/index.ts';
import { ApiError, readFieldErrors } from '../../src/panel/api/api-error.ts';
import { codeTexts, errorMessage, fieldMessage } from '../../src/panel/api/error-message.ts';
import { translateSentence } from '../../src/panel/api/translate-sentence.ts';
import { speak } from './speak.ts';

/** What no page of the panel asks for, and why. */
const neverInPanel: Readonly<Record<string, readonly string[]>> = {
  'API keys are for /v1; the panel sends none': [
    'AUTH_API_KEY_DISABLED',
    'AUTH_API_KEY_EXHAUSTED',
    'AUTH_API_KEY_EXPIRED',
    'AUTH_API_KEY_INVALID',
    'AUTH_API_KEY_IP_NOT_ALLOWED',
    'AUTH_API_KEY_MISSING',
    'AUTH_API_KEY_MODEL_NOT_ALLOWED',
    'AUTH_API_KEY_USER_DISABLED',
  ],
  'images, audio, responses and forms of videos are requests to /v1': [
    'ANSWER_NOT_KEPT',
    'AUDIO_FAILED',
    'AUDIO_MISSING',
    'AUDIO_NOT_READY',
    'AUDIO_REQUEST_INVALID',
    'EDIT_INVALID',
    'EXTENSION_UNSUPPORTED',
    'IMAGES_MISSING',
    'IMAGES_TOO_LARGE',
    'IMAGE_FAILED',
    'IMAGE_NOT_READY',
    'IMAGE_REQUEST_INVALID',
    'PREVIOUS_RESPONSE_NOT_FOUND',
    'REFERENCED_VIDEO_NOT_FOUND',
    'REMIX_UNSUPPORTED',
    'RESPONSE_FORM_INVALID',
    'RESPONSE_FORM_UNSUPPORTED',
    'TASK_TIMEOUT',
    'RESPONSE_GONE',
    'VIDEO_REQUEST_INVALID',
  ],
  'agents call /mcp': ['SESSION_CAP_REACHED'],
  'batches come with an API key': [
    'BATCHES_LIMITED',
    'BATCH_ENDED',
    'BATCH_FILES_LIMITED',
    'BATCH_FILE_NOT_FOUND',
    'BATCH_INVALID',
    'BATCH_NOT_FOUND',
    'BATCH_REFUSED',
  ],
  'a header or a parameter that only clients of /v1 send': [
    'KEEP_RESULT_INVALID',
    'ALLOW_FALLBACK_INVALID',
    'ARTIFACT_VARIANT_UNKNOWN',
    'ARTIFACTS_UNSUPPORTED',
  ],
};
const unseen = new Set(Object.values(neverInPanel).flat());

/** Failures that rows hold by their code: it says all that their message does. */
const endings = [
  ...[
    'plugin_request_invalid',
    'plugin_usage_invalid',
    'plugin_unavailable',
    'plugin_submit_response_failed',
    'plugin_submit_response_invalid',
    'vendor_rejected',
    'content_policy_violation',
    'vendor_quota_exhausted',
    'vendor_busy',
    'vendor_failed',
    'vendor_unreachable',
    'vendor_timeout',
    'submission_interrupted',
    'submission_unrecorded',
    'submission_broken',
    'no_available_channel',
    'artifact_upstream_auth_failed',
    'artifact_gone',
    'artifact_not_found',
    'artifact_upstream_error',
    'artifact_upstream_timeout',
    'artifact_request_rejected',
    'artifact_plugin_unavailable',
    'artifact_plugin_error',
  ].map((name) => `tasks.${name}`),
  ...['channels.key_unreadable', 'billing.insufficient_quota', 'billing.insufficient_key_quota'],
];

const keyOfCode = (code: string): string => codeTexts[code] ?? `refusal.${code}`;
/** Rules for plugins have files of their own, and none in English. */
const reasons = Object.keys(catalogue).filter((reason) => !/^(?:fault|hint|hook|icon|index)\./.test(reason));

describe('the gateway’s messages', () => {
  const english = readTexts('en');

  test('each code has a text, or never reaches the panel', () => {
    const codes = describeCodes().map(({ panel }) => panel);
    expect(codes.filter((code) => !unseen.has(code) && english[keyOfCode(code)] === undefined)).toEqual([]);
    expect([...unseen].filter((code) => !codes.includes(code))).toEqual([]);
  });

  test('the panel says a catalogued sentence as the gateway does, unless its file has other words', () => {
    expect(english['reason.tasks.channel_deleted']).toBe('The channel was deleted.');
    expect(english['reason.tasks.plugin_gone']).toContain('vendor’s response');
    expect(english['reason.tasks.file_field_full']).toContain('the field “{{field}}”');
    expect(english['reason.billing.expression_empty']).toContain('0.05 * u("seconds")');
    expect(english['reason.channels.name_length']).toBe('Enter 1 to {{max}} characters.');
    expect(listRepeatedTexts()).toEqual([]);
  });

  test('each code with which a task may end, or a copy of its result, has a text of its own', () => {
    expect(endings.filter((code) => english[`reason.${code}`] === undefined)).toEqual([]);
  });

  test('no text stands for a code or a sentence that is not said', () => {
    const said = new Set([
      ...describeCodes().map(({ panel }) => `refusal.${panel}`),
      ...reasons.flatMap((reason) => [`error.${reason}`, `reason.${reason}`]),
      ...endings.map((code) => `reason.${code}`),
    ]);
    const texts = Object.keys(english).filter((key) => /^(refusal|reason)\.|^error\.(auth|http)\./.test(key));
    expect(texts.filter((key) => !said.has(key.replace(/_(?:one|many|other)$/, '')))).toEqual([]);
  });

  test.each(listLanguages().filter((language) => language !== 'en'))('no English sentence in %s', async (language) => {
    const t = await speak(language);
    const said = 'Nobody should read this.';
    for (const { panel, status } of describeCodes()) {
      // The last one's message may be the operator's own.
      if (/^(?:(?:VENDOR|PLUGIN_(?:HOOK|REQUEST|USAGE|SUBMIT)|CONTENT)_|AUTH_ACCESS_DENIED$)/.test(panel)) continue;
      const error = new ApiError({ status, code: panel, message: said });
      expect(errorMessage(error, t, language)).not.toContain(said);
    }
    const unknown = new ApiError({ status: 400, code: 'NEW_CODE', message: said });
    expect(errorMessage(unknown, t, language)).not.toContain(said);
    const fields = readFieldErrors(
      { errors: [{ field: 'name', message: said, rule: 'wrong_value' }] },
      { message: said },
    );
    expect([...fields.values()].map((fault) => fieldMessage(fault, t, language))).not.toContain(said);
  });

  test('parameters of a sentence are in the text', async () => {
    const t = await speak('zh');
    const { reason, params, message } = sentence('auth.characters_range', { min: 8, max: 128 });
    expect(message).toBe('8 to 128 characters are required.');
    const error = new ApiError({ status: 400, code: 'VALIDATION_FAILED', message, reason, params });
    expect(errorMessage(error, t, 'zh')).toBe('请输入 8 到 128 个字符。');
  });

  test('sizes are said in the units that people read, and remain numbers for programs', async () => {
    const sizes = [0, 1, 1023, 1024, 1.5 * 1024 ** 2, 64 * 1024 ** 2, 3 * 1024 ** 3];
    expect(sizes.map((bytes) => describeBytes(bytes))).toEqual([
      ...['0 bytes', '1 byte', '1,023 bytes', '1 kB', '1.5 MB', '64 MB', '3 GB'],
    ]);
    const t = await speak('de');
    const tooLarge = sentence('http.file_size', { name: 'a.png', max: 1.5 * 1024 ** 2 });
    expect([tooLarge.message, translateSentence(tooLarge, t), tooLarge.params.max]).toEqual([
      'The file "a.png" is larger than 1.5 MB.',
      'Die Datei „a.png“ ist größer als 1,5 MB.',
      1_572_864,
    ]);
    // Stored rows have the number, and bills are by the GB of 10^9 bytes.
    const billed = sentence('ledger.storage', { bytes: 12_345_000, day: '2026-11-29' });
    expect([billed.message, translateSentence(billed, t)?.replace('\u00a0', ' ')]).toEqual([
      '0.012345 GB of results on 2026-11-29',
      '0,012345 GB an Ergebnissen am 2026-11-29',
    ]);
  });

  test('a wrong field is named with what it takes', async () => {
    const t = await speak('zh');
    const say = (said: Sentence) => translateSentence(said, t);
    const wanted = sentence('wanted.text_range', { min: 1, max: 32 });
    expect(say(sentence('http.field_wrong', { name: 'name', wanted }))).toBe('“name”应为：1 到 32 个字符的文本。');
    const rest = sentence('wanted.either', { first: sentence('wanted.boolean'), rest: 'null' });
    const either = sentence('wanted.more', { first: '"fast"', rest });
    expect(say(sentence('http.field_missing', { name: 'mode', wanted: either }))).toBe(
      '缺少“mode”，请填写："fast"、true 或 false或null。',
    );
    const whole = sentence('wanted.whole_min', { min: 1 });
    expect(say(sentence('http.query_wrong', { name: 'page', wanted: whole }))).toBe(
      '查询参数“page”应为：不小于 1 的整数。',
    );
    const matching = sentence('wanted.matches', { what: sentence('wanted.text'), pattern: '^a' });
    expect(say(sentence('http.field_wrong', { name: 'id', wanted: matching }))).toBe('“id”应为：符合 ^a 的文本。');
    expect(say(sentence('http.field_unknown', { name: 'colour', names: 'name, models' }))).toBe(
      '未知字段“colour”，请删除。此处接受：name, models。',
    );
  });

  test('values of a sentence that are sentences are said too', async () => {
    const t = await speak('zh');
    const fault = sentence('policy.unknown', { name: 'x' });
    const { reason, params, message } = sentence('auth.access_policy', { fault });
    const error = new ApiError({ status: 400, code: 'VALIDATION_FAILED', message, reason, params });
    expect(errorMessage(error, t, 'zh')).toBe('访问策略无效。策略中没有“x”。');
  });

  test('people whom the operator does not admit read the operator’s own words', async () => {
    const t = await speak('zh');
    const say = (message: string) =>
      errorMessage(new ApiError({ status: 403, code: 'AUTH_ACCESS_DENIED', message }), t, 'zh');
    expect(say('仅限员工，请联系 IT。')).toBe('仅限员工，请联系 IT。');
    expect(say(authErrors.access_denied().message)).toBe('此网关不允许该账号登录。');
  });

  test('what the configuration warns of is said in the language, with its values', async () => {
    const t = await speak('de');
    const reading = readConfig({
      ...{ TRUSTED_PROXIES: 'none', REDIS_URL: 'redis://cache', SYNC_FREQUENCY: 'often', DATABASE_URI: 'x' },
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    });
    const warnings = reading.ok ? reading.warnings : [];
    expect(warnings.map((said) => [said.code, said.setting, translateSentence(said, t)])).toEqual([
      [
        ...['setting_doubtful', 'SYNC_FREQUENCY'],
        'SYNC_FREQUENCY ist "often", das ist nicht erlaubt. Stattdessen gilt 60. Erlaubt: eine ganze Zahl von 1 bis 86400',
      ],
      [
        ...['setting_doubtful', 'REDIS_URL'],
        'REDIS_URL ist gesetzt, aber ein Gateway mit SQLite ist ein einzelner Knoten und braucht keinen gemeinsamen Cache. Entfernen Sie die Variable.',
      ],
      [
        ...['setting_doubtful', 'OTEL_EXPORTER_OTLP_PROTOCOL'],
        'OTEL_EXPORTER_OTLP_PROTOCOL ist grpc, Traces werden aber als http/json gesendet. Nennen Sie die HTTP-Adresse des Collectors, meist mit Port 4318.',
      ],
      [
        ...['setting_doubtful', 'DATABASE_URI'],
        'DATABASE_URI ist keine Einstellung und wird ignoriert. Meinten Sie DATABASE_URL?',
      ],
    ]);
  });

  test('a vendor’s own words are shown as they are', async () => {
    const t = await speak('zh');
    const error = new ApiError({ status: 400, code: 'VENDOR_REJECTED', message: 'seconds must be 4 or 8' });
    expect(errorMessage(error, t, 'zh')).toContain('seconds must be 4 or 8');
  });
});
