import type { AuthSettings } from '../../auth/index.ts';
import { type MailStep, openProvider, type Upstream } from '../../upstream/index.ts';
import { oidcSettings } from '../auth-settings.ts';
import { withoutSlash } from '../public-address.ts';
import type { OptionValues } from '../read-options.ts';
import { type Feature, missingFor } from '../requirements.ts';
import type { OptionTrials, TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';
import { type SendTestWebhook, tryOperatorWebhook } from './try-operator-webhook.ts';
import { tryTelegram } from './try-telegram.ts';
import { tryTurnstile } from './try-turnstile.ts';
import { tryWeChat } from './try-wechat.ts';

export type OptionTrialDeps = {
  options: OptionValues;
  upstream: Upstream;
  /** Tries the OpenID provider that `settings` describe. */
  tryOidc(settings: NonNullable<AuthSettings['providers']['oidc']>): Promise<TrialResult['steps']>;
  /**
   * Sends a test mail now; `undefined` if mail is not set up. Rejects with
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
    if (missing.length > 0) return recordSteps().fail('settings', `Set ${missing.join(' and ')} first.`);
    return attempt();
  };

  return {
    smtp: ({ to, language }) =>
      whenComplete('EmailVerificationEnabled', async () => {
        if (!to) return recordSteps().fail('settings', 'Give an address for the test mail: your account has none.');
        const steps = (await tryMail(to, language)) ?? [];
        return {
          ok: steps.length > 0 && steps.every(({ ok }) => ok),
          steps: steps.map(({ step, ok, message }) => ({ name: step, ok, message })),
        };
      }),

    async webhook() {
      const missing = (['alerts.webhook_url', 'alerts.webhook_secret'] as const).filter((key) => !options.isSet(key));
      if (missing.length > 0) return recordSteps().fail('settings', `Set ${missing.join(' and ')} first.`);
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
