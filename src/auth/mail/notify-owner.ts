import { type Clock, type Logger, parseUserAgent } from '../../kernel/index.ts';
import type { Counters, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { addressKey } from '../limits/limit-requests.ts';
import type { RequestOrigin } from '../principals.ts';
import { pickLanguage } from './mail-languages.ts';
import type { MailQueue } from './mail-queue.ts';
import type { NoticeActor, NoticeOrigin, NoticeSubject } from './types.ts';

export type OwnerNotice = {
  about: NoticeSubject;
  by?: NoticeActor;
  /** Where the owner's own request came from. An administrator's origin stays private. */
  origin?: RequestOrigin | undefined;
  /** The provider of an identity. */
  provider?: string;
};

const WINDOW_SECONDS = 60 * 60;
/**
 * Notices per hour and user. New devices have their own limit: frequent sign-ins must not suppress
 * the notice of a change. `sessions/detect-new-device.ts` decides what a new device is.
 */
const MAX_NEW_DEVICES = 5;
const MAX_CHANGES = 20;

/**
 * Emails the owner of an account what happened to it, to the address in `user`; after a change of
 * address pass the former one. Call it after the commit. Does nothing without mail settings or an
 * address. Never rejects and does not wait for the mail server.
 */
export type NotifyOwner = (
  user: Pick<UserRecord, 'id' | 'username' | 'email' | 'language'>,
  notice: OwnerNotice,
) => Promise<void>;

export function createNotifyOwner(deps: {
  counters: Counters;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  mailQueue: MailQueue;
}): NotifyOwner {
  const { counters, clock, logger, settings, mailQueue } = deps;

  return async ({ id, email, username, language }, { about, by = 'owner', origin, provider = '' }) => {
    if (!settings().mail || !email) return;
    try {
      const limit = about === 'new_device' ? MAX_NEW_DEVICES : MAX_CHANGES;
      const key = `notice:${about === 'new_device' ? 'device' : 'change'}:${id}`;
      const { count } = await counters.add(key, 1, WINDOW_SECONDS);
      if (count > limit) return;
      mailQueue.post({
        to: email,
        language: pickLanguage(undefined, language),
        content: {
          kind: 'notice',
          about,
          by,
          username,
          at: clock.unix(),
          provider: PROVIDER_NAMES[provider] ?? provider,
          origin: origin && describeOrigin(origin),
          last: count === limit,
        },
      });
    } catch (error) {
      logger.error({ err: error, userId: id, about }, 'could not notify the owner of an account about a change');
    }
  };
}

/** Names of the built-in providers; providers that root added are named by their slug. */
const PROVIDER_NAMES: Record<string, string> = {
  github: 'GitHub',
  discord: 'Discord',
  linuxdo: 'LinuxDO',
  oidc: 'OpenID Connect',
  telegram: 'Telegram',
  wechat: 'WeChat',
};

/** Empty for an unknown browser. Never the client's own words, which would stand in a mail. */
export function nameDevice(userAgent: string): string {
  const device = parseUserAgent(userAgent);
  return device ? `${device.browser} (${device.system})` : '';
}

const describeOrigin = ({ ip, decidingIp, userAgent }: RequestOrigin): NoticeOrigin => ({
  device: nameDevice(userAgent),
  ip,
  untrustedProxy: ip === decidingIp ? '' : addressKey(decidingIp),
});
