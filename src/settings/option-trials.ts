import type { AuthSettings } from '../auth/index.ts';
import { isObject, parseJson, type Sentence, sentence, toSentence } from '../kernel/index.ts';
import { type CallProvider, type MailStep, openProvider, type Upstream } from '../upstream/index.ts';
import { oidcSettings } from './auth-settings.ts';
import { withoutSlash } from './public-address.ts';
import type { OptionValues } from './read-options.ts';
import { type Feature, missingFor } from './requirements.ts';
import type { OptionTrials, TrialResult } from './types.ts';

export type OptionTrialDeps = {
  options: OptionValues;
  upstream: Upstream;
  /** Tries the OpenID provider that `settings` describe. */
  tryOidc(settings: NonNullable<AuthSettings['providers']['oidc']>): Promise<TrialResult['steps']>;
  /**
   * Sends a test email now; `undefined` if mail is not set up. Rejects with
   * `auth.validation_failed` if `to` is not an address.
   */
  tryMail(to: string, language: string): Promise<MailStep[] | undefined>;
  /** Sends a signed test webhook now. */
  sendTestWebhook: SendTestWebhook;
};

/** Tries the options as stored, whether the feature is switched on or not. */
export function createOptionTrials({
  options,
  upstream,
  tryOidc,
  tryMail,
  sendTestWebhook,
}: OptionTrialDeps): OptionTrials {
  /** Runs the trial if everything that the feature needs is set. */
  const whenComplete = async (feature: Feature, attempt: () => Promise<TrialResult>): Promise<TrialResult> => {
    const missing = missingFor(feature, options);
    if (missing.length > 0)
      return recordSteps().fail('settings', sentence('trial.needs', { names: missing.join(' and ') }));
    return attempt();
  };

  return {
    smtp: ({ to, language }) =>
      whenComplete('EmailVerificationEnabled', async () => {
        if (!to) return recordSteps().fail('settings', sentence('trial.mail_no_address'));
        const steps = (await tryMail(to, language)) ?? [];
        return {
          ok: steps.length > 0 && steps.every(({ ok }) => ok),
          steps: steps.map(({ step, ok, ...said }) => ({ name: step, ok, ...said })),
        };
      }),

    async webhook() {
      const missing = (['alerts.webhook_url', 'alerts.webhook_secret'] as const).filter((key) => !options.isSet(key));
      if (missing.length > 0)
        return recordSteps().fail('settings', sentence('trial.needs', { names: missing.join(' and ') }));
      const receiver = { url: options.text('alerts.webhook_url'), secret: options.secret('alerts.webhook_secret') };
      return tryOperatorWebhook(sendTestWebhook, receiver);
    },

    oidc: () =>
      whenComplete('oidc.enabled', async () => {
        const steps = await tryOidc(oidcSettings(options));
        return { ok: steps.every(({ ok }) => ok), steps };
      }),

    turnstile: () => {
      const verifyUrl = options.text('TurnstileVerifyUrl');
      return whenComplete('TurnstileCheckEnabled', () =>
        tryTurnstile(openProvider(upstream, [verifyUrl]), {
          secretKey: options.secret('TurnstileSecretKey'),
          verifyUrl,
        }),
      );
    },

    wechat: () => {
      const address = withoutSlash(options.text('WeChatServerAddress'));
      return whenComplete('WeChatAuthEnabled', () =>
        tryWeChat(openProvider(upstream, [address]), {
          serverAddress: address,
          serverToken: options.secret('WeChatServerToken'),
        }),
      );
    },

    telegram: () =>
      whenComplete('TelegramOAuthEnabled', () =>
        tryTelegram({ botToken: options.secret('TelegramBotToken'), botName: options.text('TelegramBotName') }),
      ),
  };
}

/** What came of one webhook. `fault`: why nothing was sent. */
export type SendTestWebhook = (receiver: {
  url: string;
  secret: string;
}) => Promise<
  { fault: Sentence } | { delivered: boolean; delivery: { httpStatus: number; durationMs: number; error: string } }
>;

/** Sends a signed webhook of the type `test` to the operator's receiver. */
async function tryOperatorWebhook(
  send: SendTestWebhook,
  receiver: { url: string; secret: string },
): Promise<TrialResult> {
  const steps = recordSteps();
  const sent = await send(receiver);
  if ('fault' in sent) return steps.fail('address', sent.fault);
  steps.pass('address', sentence('trial.webhook_allowed'));
  const { httpStatus, durationMs, error } = sent.delivery;
  if (httpStatus === 0) return steps.fail('send', sentence('trial.webhook_silent', { code: error }));
  const answer = { status: httpStatus, ms: durationMs };
  if (!sent.delivered) return steps.fail('send', sentence('trial.webhook_refused', answer));
  steps.pass('send', sentence('trial.webhook_answered', answer));
  return steps.end();
}

/**
 * Checks the form of token and name and sends nothing: Telegram answers through the browser, and
 * its API takes the token only in a URL, where logs would keep it.
 */
async function tryTelegram({ botToken, botName }: { botToken: string; botName: string }): Promise<TrialResult> {
  const steps = recordSteps();
  if (!/^\d{5,20}:[A-Za-z0-9_-]{30,60}$/.test(botToken)) {
    return steps.fail('token', sentence('telegram.token_form'));
  }
  steps.pass('token', sentence('telegram.token'));
  if (!/bot$/i.test(botName)) {
    return steps.fail('name', sentence('telegram.name'));
  }
  steps.pass('name', sentence('telegram.try', { bot: botName }));
  return steps.end();
}

/** Sends an invented answer: the verifier checks the secret key before it checks the answer. */
async function tryTurnstile(
  ask: CallProvider,
  settings: { secretKey: string; verifyUrl: string },
): Promise<TrialResult> {
  const steps = recordSteps();
  const form = { secret: settings.secretKey, response: 'an invented answer' };
  const answer = await ask({ url: settings.verifyUrl, body: { form } });
  if (!answer.ok) return steps.fail('connect', answer.error);
  steps.pass('connect', sentence('turnstile.answered'));

  const verdict = parseJson(answer.value.text);
  if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
    return steps.fail('verdict', sentence('turnstile.no_verdict', { status: answer.value.status }));
  }
  const codes = Array.isArray(verdict['error-codes']) ? verdict['error-codes'] : [];
  if (codes.some((code) => code === 'invalid-input-secret' || code === 'missing-input-secret')) {
    return steps.fail('secret', sentence('turnstile.secret_unknown'));
  }
  if (!verdict.success && !codes.includes('invalid-input-response')) {
    return steps.fail('verdict', sentence('turnstile.refused'));
  }
  steps.pass('secret', verdict.success ? sentence('turnstile.test_key') : sentence('turnstile.secret'));
  return steps.end();
}

/** Asks the WeChat server for the user of an invented code. */
async function tryWeChat(
  ask: CallProvider,
  settings: { serverAddress: string; serverToken: string },
): Promise<TrialResult> {
  const steps = recordSteps();
  const answer = await ask({
    url: `${settings.serverAddress}/api/wechat/user?code=000000`,
    headers: { authorization: settings.serverToken },
  });
  if (!answer.ok) return steps.fail('connect', answer.error);
  const { status, text } = answer.value;
  steps.pass('connect', sentence('wechat.answered'));

  if (status === 401 || status === 403) {
    return steps.fail('token', sentence('wechat.token'));
  }
  const verdict = status === 200 ? parseJson(text) : undefined;
  if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
    return steps.fail('answer', sentence('wechat.foreign', { status }));
  }
  if (verdict.success && verdict.data !== '') return steps.fail('answer', sentence('wechat.invented'));
  steps.pass('answer', sentence('wechat.good'));
  return steps.end();
}

/** Collects the steps of a trial; the first that fails ends it. */
export type Steps = {
  pass(name: string, said: Sentence): void;
  fail(name: string, said: Sentence): TrialResult;
  end(): TrialResult;
};

function recordSteps(): Steps {
  const steps: TrialResult['steps'] = [];
  return {
    pass: (name, said) => void steps.push({ name, ok: true, ...toSentence(said) }),
    fail(name, said) {
      steps.push({ name, ok: false, ...toSentence(said) });
      return { ok: false, steps };
    },
    end: () => ({ ok: true, steps }),
  };
}
