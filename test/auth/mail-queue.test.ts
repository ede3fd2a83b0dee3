import { describe, expect, test } from 'bun:test';
import { composeMail } from '../../src/auth/mail/compose-mail.ts';
import { MAIL_LANGUAGES, MAIL_WORDS, pickLanguage } from '../../src/auth/mail/mail-languages.ts';
import { createMailQueue, type OutgoingMail } from '../../src/auth/mail/mail-queue.ts';
import type { MailContent } from '../../src/auth/mail/types.ts';
import { quoted, systemClock } from '../../src/kernel/index.ts';
import type { Mail, MailOutcome } from '../../src/upstream/index.ts';
import { recordingLogger } from '../http/kit-harness.ts';
import { until } from '../support/until.ts';
import { mailSettings } from './mail-harness.ts';

const letter = (change: Partial<OutgoingMail> = {}): OutgoingMail => ({
  to: 'you@example.net',
  language: 'en',
  content: { kind: 'verify', code: '12345678', minutes: 10 },
  ...change,
});
const failure = (permanent: boolean): MailOutcome => ({
  steps: [{ step: 'send', ok: false, ...quoted('you@example.net is unknown here') }],
  failure: { step: 'send', permanent, reply: permanent ? 550 : 451 },
});

/** Longer than any pause of a mail queue; no test waits this long. */
const NEVER_OVER_MS = 120_000;

/** A mail queue with short pauses; `answer` plays the mail server. */
function openMailQueue(answer: (mail: Mail, tries: number) => Promise<MailOutcome>, settings = mailSettings()) {
  const { logger, lines } = recordingLogger();
  const pauses: number[] = [];
  let tries = 0;
  const mailQueue = createMailQueue({
    sendMail: (_server, mail) => {
      tries += 1;
      return answer(mail, tries);
    },
    settings: () => settings,
    clock: {
      ...systemClock,
      sleep: (ms, signal) => {
        pauses.push(ms);
        return systemClock.sleep(ms < NEVER_OVER_MS ? Math.min(ms, 5) : ms, signal);
      },
    },
    logger,
  });
  return { mailQueue, lines, pauses, tries: () => tries };
}

describe('the mail queue', () => {
  test('delays no request', async () => {
    const { mailQueue, tries } = openMailQueue(() => new Promise(() => {}));
    mailQueue.post(letter());
    expect(tries()).toBe(0);
    await until(() => tries() === 1);
  });

  test('sends at most four at once', async () => {
    let running = 0;
    let most = 0;
    const { mailQueue, tries } = openMailQueue(async () => {
      running += 1;
      most = Math.max(most, running);
      await Bun.sleep(5);
      running -= 1;
      return { steps: [] };
    });
    for (let i = 0; i < 40; i += 1) mailQueue.post(letter());
    await until(() => tries() === 40);
    expect(most).toBe(4);
  });

  test('tries three times with pauses, then drops the email with one log line without address or code', async () => {
    const { mailQueue, lines, pauses, tries } = openMailQueue(async () => failure(false));
    mailQueue.post(letter());
    await until(() => lines.length > 0);
    expect(tries()).toBe(3);
    expect(pauses.slice(1)).toEqual([2000, 10_000]);
    expect(lines).toEqual([
      {
        level: 'error',
        fields: { mail: 'verify', tries: 3, step: 'send', reply: 451 },
        message: 'an email could not be sent and was dropped',
      },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/example\.net|12345678/);
  });

  test('retries after a temporary failure, and gives up at once after a permanent one', async () => {
    const passing = openMailQueue(async (_mail, tries) => (tries === 1 ? failure(false) : { steps: [] }));
    passing.mailQueue.post(letter());
    await until(() => passing.tries() === 2);
    const lasting = openMailQueue(async () => failure(true));
    lasting.mailQueue.post(letter());
    await until(() => lasting.lines.length === 1);
    expect(lasting.tries()).toBe(1);
    expect(passing.lines).toEqual([]);
  });

  test('drops emails whose settings are gone', async () => {
    const { mailQueue, lines, tries } = openMailQueue(async () => ({ steps: [] }), mailSettings({ mail: undefined }));
    mailQueue.post(letter());
    await until(() => lines.length === 1);
    expect(tries()).toBe(0);
    expect(await mailQueue.sendNow(letter())).toBeUndefined();
  });

  test('flood: beyond a thousand waiting emails are dropped', async () => {
    const { mailQueue, lines } = openMailQueue(() => new Promise(() => {}));
    for (let i = 0; i < 1005; i += 1) mailQueue.post(letter());
    expect(lines).toHaveLength(5);
  });

  test('a stop sends waiting emails at once, without retries, waits for those under way and accepts no others', async () => {
    const sent: string[] = [];
    const { mailQueue, lines } = openMailQueue(async ({ to }, tries) => {
      await Bun.sleep(30);
      if (tries === 1) return failure(false);
      sent.push(to);
      return { steps: [] };
    });
    for (const to of ['a@example.net', 'b@example.net']) mailQueue.post(letter({ to }));
    await mailQueue.stop(NEVER_OVER_MS);
    expect(sent).toEqual(['b@example.net']);
    expect(lines.map(({ message }) => message)).toEqual(['an email could not be sent and was dropped']);
    mailQueue.post(letter());
    expect(lines.at(-1)?.message).toContain('the node is stopping');
  });

  test('a stop ends in time although a server hangs', async () => {
    const { mailQueue, pauses } = openMailQueue(() => new Promise(() => {}));
    for (let i = 0; i < 10; i += 1) mailQueue.post(letter());
    await mailQueue.stop(1234);
    // Nothing was waited for but the ten random delays before the emails.
    expect(pauses.slice(10)).toEqual([1234]);
  });
});

describe('texts of emails', () => {
  const names = { systemName: 'Our <Gate> & Co', serverAddress: 'https://gate.example.org' };
  const contents: MailContent[] = [
    { kind: 'verify', code: '00123456', minutes: 10 },
    { kind: 'bind', code: '00123456', minutes: 10 },
    { kind: 'account_exists', loginUrl: 'https://gate.example.org/sign-in', resetUrl: 'https://gate.example.org/f' },
    {
      kind: 'reset',
      username: 'me',
      link: 'https://gate.example.org/user/reset?email=a%40b.c&token=T0ken',
      minutes: 10,
    },
    {
      ...({
        kind: 'notice',
        about: 'new_device',
        by: 'owner',
        username: 'me',
        at: 1,
        provider: '',
        last: true,
      } as const),
      origin: { device: 'Firefox (Linux)', ip: '198.51.100.1', untrustedProxy: '' },
    },
    { kind: 'backup_failed', reason: 'no space' },
    { kind: 'backup_overdue', hours: 30 },
    { kind: 'channel_failing', channel: 'Kling', failed: 9, ended: 10 },
    { kind: 'test' },
  ];

  for (const language of MAIL_LANGUAGES) {
    for (const content of contents) {
      test(`${content.kind} in ${language}`, () => {
        const { subject, text, html } = composeMail(content, language, names);
        expect(subject).toContain(names.systemName);
        expect(subject).not.toMatch(/00123456|T0ken/);
        expect(text).toContain(names.serverAddress);
        expect(html).toContain('Our &#60;Gate&#62; &#38; Co');
        expect(html).not.toContain('<Gate>');
        expect(html).not.toMatch(/<(script|img|style|link|iframe)/);
        for (const part of [text, html]) {
          if ('code' in content) expect(part).toContain(content.code);
          if ('username' in content) expect(part).toContain(content.username);
        }
        if ('link' in content) {
          expect(text).toContain(content.link);
          expect(html).toContain(content.link.replace('&', '&#38;'));
        }
        expect(/[\u4e00-\u9fff]/.test(text)).toBe(language === 'zh' || language === 'ja');
        expect(`${subject}${text}${html}`).not.toMatch(/\{\{|undefined/);
      });
    }
  }

  test('a balance never reads as the amount that it is below', () => {
    const low = { kind: 'balance_low', username: 'ann', hint: '', url: 'https://gate.example/' } as const;
    const write = (balance: number, threshold: number) =>
      composeMail({ ...low, balance, threshold }, 'en', { systemName: 'Gate', serverAddress: '' }).text;
    expect(write(4_999_999, 5_000_000)).toContain('is $9.99, below your alert amount of $10.00');
    expect(write(1250, 2500)).toContain('is $0.00, below your alert amount of $0.005');
    expect(write(-1, 500_000)).toContain('is -$0.01, below your alert amount of $1.00');
  });

  test('all languages have the same sentences with the same placeholders', () => {
    const placeholders = (text: string) => [...text.matchAll(/\{\{\w+\}\}/g)].map(([all]) => all).sort();
    for (const [name, text] of Object.entries(MAIL_WORDS.en)) {
      for (const language of MAIL_LANGUAGES) {
        const words: Readonly<Record<string, string>> = MAIL_WORDS[language];
        expect([language, name, placeholders(words[name] ?? '')]).toEqual([language, name, placeholders(text)]);
      }
    }
  });

  test('the language is the user’s, else the browser’s, else English', () => {
    expect(pickLanguage('zh-CN,zh;q=0.9,en;q=0.8')).toBe('zh');
    expect(pickLanguage('fr-FR,en-GB;q=0.8,zh;q=0.7')).toBe('en');
    expect(pickLanguage('fr, zho, zh')).toBe('zh');
    expect(pickLanguage(undefined)).toBe('en');
    expect(pickLanguage('fr')).toBe('en');
    expect(pickLanguage('pt-BR, en')).toBe('pt');
    expect(pickLanguage(undefined, 'de')).toBe('de');
    expect(pickLanguage('en', 'zh')).toBe('zh');
    expect(pickLanguage('zh', 'fr')).toBe('zh');
    expect(pickLanguage(`${'xx,'.repeat(10_000)}zh`)).toBe('en');
  });
});
