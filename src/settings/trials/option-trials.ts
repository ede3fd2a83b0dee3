import type { AuthSettings } from '../../auth/index.ts';
import { type MailStep, openProvider, type Upstream } from '../../upstream/index.ts';
import { oidcSettings } from '../auth-settings.ts';
import { withoutSlash } from '../public-address.ts';
import type { OptionValues } from '../read-options.ts';
import { type Feature, missingFor } from '../requirements.ts';
import type { OptionTrials, TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';
import { tryTelegram } from './try-telegram.ts';
import { tryTurnstile } from './try-turnstile.ts';
import { tryWeChat } from './try-wechat.ts';

export type OptionTrialDeps = {
  options: OptionValues;
  upstream: Upstream;
  /** Tries the OpenID provider that `settings` describe. */
  tryOidc(settings: NonNullable<AuthSettings['providers']['oidc']>): Promise<TrialResult['steps']>;
  /**
   * Sends a test mail now; `undefined` while mail is not set up. Rejects with
   * `auth.validation_failed` when `to` is no address.
   */
  tryMail(to: string, language: string): Promise<MailStep[] | undefined>;
};

/** Trials of the options as they are stored, whether the feature is switched on or not. */
export function createOptionTrials({ options, upstream, tryOidc, tryMail }: OptionTrialDeps): OptionTrials {
  /** The trial once everything that the feature needs is set. */
  const ready = async (feature: Feature, attempt: () => Promise<TrialResult>): Promise<TrialResult> => {
    const missing = missingFor(feature, options);
    if (missing.length > 0) return recordSteps().fail('settings', `Set ${missing.join(' and ')} first.`);
    return attempt();
  };

  return {
    smtp: ({ to, language }) =>
      ready('EmailVerificationEnabled', async () => {
        if (!to)
          return recordSteps().fail('settings', 'Say where the test mail goes: your account has no mail address.');
        const steps = (await tryMail(to, language)) ?? [];
        return {
          ok: steps.length > 0 && steps.every(({ ok }) => ok),
          steps: steps.map(({ step, ok, message }) => ({ name: step, ok, message })),
        };
      }),

    oidc: () =>
      ready('oidc.enabled', async () => {
        const steps = await tryOidc(oidcSettings(options));
        return { ok: steps.every(({ ok }) => ok), steps };
      }),

    turnstile: () => {
      const verifyUrl = options.text('TurnstileVerifyUrl');
      return ready('TurnstileCheckEnabled', () =>
        tryTurnstile(openProvider(upstream, [verifyUrl]), {
          secretKey: options.secret('TurnstileSecretKey'),
          verifyUrl,
        }),
      );
    },

    wechat: () => {
      const address = withoutSlash(options.text('WeChatServerAddress'));
      return ready('WeChatAuthEnabled', () =>
        tryWeChat(openProvider(upstream, [address]), {
          serverAddress: address,
          serverToken: options.secret('WeChatServerToken'),
        }),
      );
    },

    telegram: () =>
      ready('TelegramOAuthEnabled', () =>
        tryTelegram({ botToken: options.secret('TelegramBotToken'), botName: options.text('TelegramBotName') }),
      ),
  };
}
