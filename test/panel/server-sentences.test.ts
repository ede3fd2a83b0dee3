import { describe, expect, test } from 'bun:test';
import { listLanguages, readTexts } from '../../scripts/check-texts.ts';
import { listSentences } from '../../scripts/list-sentences.ts';
import { describeCodes } from '../../src/http/openapi/describe-codes.ts';
import { ApiError } from '../../src/panel/api/api-error.ts';
import { errorMessage } from '../../src/panel/api/error-message.ts';
import { createRecognizer } from '../../src/panel/api/recognize-sentence.ts';
import { learnSentences, sayServerText, translateOrQuote } from '../../src/panel/api/say-server-text.ts';
import sentences from '../../src/panel/api/server-sentences.json';
import { taskErrors } from '../../src/tasks/errors.ts';
import { vendorErrors } from '../../src/vendors/errors.ts';
import { speak } from './speak.ts';

/** Where reasons come from that rows, reports and refusals hold. */
const SOURCES =
  /^src\/(?:(?:tasks|plugins|surfaces|relay|files|results|vendors|store\/drivers|operations\/backup)\/)(?!.*\.d\.ts)/;

/** Files whose sentences no page shows, or shows as they are, and why. */
const EXEMPT: Readonly<Record<string, RegExp>> = {
  'catalogues: codes and reasons have texts of their own':
    /\/(?:errors|sentences)\.ts$|^src\/settings\/(?:catalogue\/|requirements)/,
  'answers of /v1 and of routes of plugins': /^src\/(?:relay\/|surfaces\/(?:images|responses|native)\/)/,
  'rules of the contract, which have texts of their own':
    /^src\/plugins\/(?:author|manifest|source|lint|icons|hooks|factory)\/|^src\/sandbox\/child|^src\/plugins\/(?:market-index\/read-index|marketplace\/compare-entry)\.ts$/,
  'printed by commands, or logged':
    /^src\/plugins\/(?:signing\/|marketplace\/(?:write|sign|check-folder|publish))|^src\/operations\/backup\/(?:seal|restore|read-parts|list-backups|open-place|backup-notes)|^src\/sandbox\/system|^src\/tasks\/state\/trace-event|^src\/settings\/(?:risk-log|public-address)|^src\/billing\/explain-bill/,
  'previews, which fail silently': /^src\/results\/previews\//,
  'queries and invariants of drivers': /^src\/store\/drivers\/(?!write-hashed|s3\/)/,
  'a refused marketplace has texts by its reason': /^src\/plugins\/marketplace\/check-trust/,
  'attention has texts by its code': /^src\/operations\/backup\/backup-schedule|^src\/billing\/check-prices/,
};

/** Parts of sentences, names of jobs, and what only clients of the API do. */
const PARTS = new Set([
  // Parts of sentences that are known as a whole.
  '; * version * serves instead',
  'A * is not allowed in a price.',
  'Asked about an unknown job, the vendor * (HTTP status *).',
  'The connection is encrypted*.',
  'The server said: *',
  '; the certificate was not checked, as configured',
  'The * of "*" in "*"',
  'The plugin declares: *.',
  'The webhook secret of this API key can no longer be read. *',
  'This API key has no webhook secret, so its receiver could not verify notices. *',
  'Make one in the panel or with POST /api/token/*/webhook-secret and give it to the receiver.',
  'There is no *.',
  'did not refuse the key',
  'did not refuse the key, in an answer that is not JSON',
  'had to be stopped * times within * ms',
  'plugin * *; it is suspended for another *',
  'plugin * * by your requests; it refuses them for another *',
  'the bucket is not available',
  'of the plugin "*"',
  'version * of plugin *',
  'The plugin was stopped too often while it worked on your requests, and accepts none of them for',
  '* s. Change what you send, or tell the operator of this gateway.',
  'of your account',
  'hook call stopped',
  'sandbox process stopped',
  'on this gateway',
  'from this gateway',
  'the bucket refuses',
  'The * header',
  // Left out of what people read: the size of an answer, the form of an option.
  'more than * MiB of JSON, media in Base64 not counted',
  'more than * values',
  'more than * levels',
  '(no CRYPTO_SECRET decrypts the stored *: enter it again)',
  'The value of * must be *.',
  // Notes of a backup that is made by a command.
  'the secrets are not in it: without them stored credentials cannot be read',
  'file of a kept result was',
  'files of kept results were',
  '* not there',
  // For the author of a plugin, beside its faults or in quotation marks.
  'The plugin is not valid: *: **.',
  'The plugin cannot be served: *.',
  'Preview it under its own key.',
  'has the SHA-256 *, which is not the announced one',
  'Fetch the file again. If the hash still differs, ask its publisher.',
  'the exports are not JSON',
  'the source is over the limit of * bytes',
  'the arguments are not JSON: *',
  'the arguments of * are over the limit of * bytes',
  'the result of * is over the limit of * JSON values',
  'the result of * is over the limit of * KiB of member names',
  'more than * KiB of member names',
  'the result is not JSON of at most * levels',
  '\\ No newline at end of file',
  // What only clients of the API do.
  'There is no option "*".',
  'There is no option "*". Options: *.',
  'This video has no such variant. It has: *.',
  '* must be true or false.',
  'The form must have model once, as a text.',
  'This route requires a JSON body.',
  'This route takes a JSON or multipart/form-data body.',
  'Videos of the model "*" cannot be remixed.',
  'Requests for this model are relayed to its vendor, so there is no task here to send notices about. Leave * out.',
  'The task failed.',
  // States of a parser, and what a trial sends.
  'exit code *',
  'The icon *.',
  'The icon of "*" *.',
  '(and * more)',
  'is *, and not *',
  'until the end',
  'an invented answer',
  'The receiver answered * after * ms',
  '*; any status from 200 to 299 counts as delivered.',
  // Logged: why a poll is postponed or a job was lost.
  'the plugin is not loaded',
  'the gateway could not ask',
  'ending interrupted submissions',
  'the sweep of old tasks',
  'the submit lease was lost',
  'the store failed',
  'usage facts of a poll were not usable',
]);

const known = createRecognizer(sentences);

describe('sentences that the gateway stores and reports', () => {
  test('each has a text in the panel, or a reason to have none', async () => {
    const files = [...new Bun.Glob('src/**/*.ts').scanSync()].filter((file) => SOURCES.test(file)).sort();
    const exempt = Object.values(EXEMPT);
    const missing = files
      .filter((file) => !exempt.some((pattern) => pattern.test(file)))
      .flatMap((file) => listSentences(file))
      .filter(({ text }) => !PARTS.has(text.trim()) && known(text.trim().replaceAll('*', '7')) === null)
      .map(({ file, text }) => `${file}: ${text}`);
    expect(missing).toEqual([]);
    expect(files.length).toBeGreaterThan(200);
  });

  test('the default messages of errors that rows may hold are those of the catalogues', () => {
    const ofTasks = Object.values(taskErrors).map((make) => make().message);
    const ofCodes = [...describeCodes(), ...Object.values(vendorErrors).map((make) => make())];
    const defaults = new Set([...ofTasks, ...ofCodes.map(({ message }) => message)]);
    const wrong = Object.entries(sentences).filter(([name, text]) => name.startsWith('errors.') && !defaults.has(text));
    expect(wrong).toEqual([]);
  });

  test('no sentence is so general that words of a vendor could be taken for it', () => {
    const letters = (text: string) => text.replaceAll(/\{\{\w+\}\}|[^A-Za-z]/g, '').length;
    const general = Object.entries(sentences).filter(([, text]) => text.includes('{{') && letters(text) < 8);
    expect(general).toEqual([]);
    for (const words of [
      'Generation failed: try another prompt',
      '1 of 3: the model is busy',
      'The prompt is blocked.',
    ])
      expect(known(words)).toBeNull();
  });

  test('the longest sentence that fits is found, with its values', () => {
    expect(known('poll failed: transient (HTTP 503): the vendor failed')).toEqual({
      key: 'reason.tasks.polls_failed_status',
      params: { class: 'transient', status: '503', detail: 'the vendor failed' },
    });
    expect(known('poll failed: hook_error: x (HTTP y)')?.key).toBe('reason.tasks.polls_failed');
    expect(known('task timeout (many minutes)')).toBeNull();
    // As groups of reasons cut it.
    expect(known(sentences['errors.unrecorded'].slice(0, 200))?.key).toBe('reason.errors.unrecorded');
  });

  test('values that are sentences are said too, and words of others are quoted', async () => {
    learnSentences(sentences);
    const t = await speak('zh');
    expect(sayServerText('poll failed: transient (HTTP 503): the vendor failed', t)).toBe(
      '查询多次失败（HTTP 503）：服务商的服务器出错。',
    );
    expect(sayServerText('poll failed: hook_error: parseTaskResult: no status', t)).toBe(
      '查询多次失败：“parseTaskResult: no status”',
    );
    expect(sayServerText('The vendor answered 400: seconds must be 5', t)).toBe(
      '服务商返回 HTTP 400：“seconds must be 5”',
    );
    expect(sayServerText('Your prompt was rejected.', t)).toBeNull();
    expect(translateOrQuote('Your prompt was rejected.', t)).toBe('“Your prompt was rejected.”');
  });

  test('a refusal says the gateway’s very sentence, and quotes a vendor’s', async () => {
    learnSentences(sentences);
    const t = await speak('zh');
    const said = (code: string, message: string) => errorMessage(new ApiError({ status: 400, code, message }), t, 'zh');
    expect(said('MODEL_NOT_FOUND', 'No channel in your group serves the model "a-1".')).toBe(
      '您的分组中没有渠道提供模型“a-1”。',
    );
    expect(said('VENDOR_REJECTED', 'seconds must be 5')).toContain('“seconds must be 5”');
    // The text of the code knows more than the default message.
    expect(said('NO_AVAILABLE_CHANNEL', 'No channel is available for this model.')).toBe(
      readTexts('zh')['error.channelNone'] ?? '',
    );
  });

  test.each(listLanguages().filter((language) => language !== 'en'))(
    'no sentence of the gateway stays English in %s',
    async (language) => {
      learnSentences(sentences);
      const t = await speak(language);
      const values = { detail: 'the vendor failed', fault: 'the gateway is stopping', reason: 'it was stopped' };
      for (const [name, sentence] of Object.entries(sentences)) {
        const text = sentence.replaceAll(/\{\{(\w+)\}\}/g, (_all, value: string) => values[value as 'fault'] ?? '7');
        const said = sayServerText(text, t);
        expect(said, name).not.toBeNull();
        expect(said, name).not.toMatch(/\b(?:the|could|cannot|must|which|failed|is not)\b/);
      }
    },
  );
});
