import type { Clock, Logger } from '../../kernel/index.ts';
import type { Counters, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { addressKey } from '../limits/address-key.ts';
import { nameDevice } from '../sessions/name-device.ts';
import type { RequestOrigin } from '../types.ts';
import type { NoticeActor, NoticePlace, NoticeSubject } from './notice-texts.ts';
import type { Outbox } from './outbox.ts';
import { pickLanguage } from './pick-language.ts';

export type OwnerNotice = {
  about: NoticeSubject;
  by?: NoticeActor;
  /**
   * Of the request, when the owner did it. The place of an administrator is nobody else's business.
   */
  origin?: RequestOrigin | undefined;
  /** Of an identity. */
  provider?: string;
};

/**
 * Mails the owner of an account what happened to it, to the address in `user`: for a changed
 * address the former one. Call it once the change is committed. Nothing happens without mail
 * settings or an address. It never rejects and waits for no mail server.
 */
export type NotifyOwner = (
  user: Pick<UserRecord, 'id' | 'username' | 'email' | 'language'>,
  notice: OwnerNotice,
) => Promise<void>;

const WINDOW_SECONDS = 60 * 60;
/**
 * Notices an hour and user. New devices have a count of their own: whoever signs in often must not
 * hide a change by it.
 */
const NEW_DEVICES = 5;
const CHANGES = 20;

export function createNotifyOwner(deps: {
  counters: Counters;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  outbox: Outbox;
}): NotifyOwner {
  const { counters, clock, logger, settings, outbox } = deps;

  return async (user, { about, by = 'owner', origin, provider = '' }) => {
    const { id, email, username, language } = user;
    if (!settings().mail || !email) return;
    try {
      const limit = about === 'new_device' ? NEW_DEVICES : CHANGES;
      const key = `notice:${about === 'new_device' ? 'device' : 'change'}:${id}`;
      const { count } = await counters.add(key, 1, WINDOW_SECONDS);
      if (count > limit) return;
      outbox.post({
        to: email,
        language: pickLanguage(undefined, language),
        content: {
          ...{ kind: 'notice', about, by, username, at: clock.unix() },
          provider: PROVIDER_NAMES[provider] ?? provider,
          place: origin && placeOf(origin),
          last: count === limit,
        },
      });
    } catch (error) {
      logger.error({ err: error, userId: id, about }, 'the owner of an account could not be told of a change');
    }
  };
}

/** The built-in ones; those that root added have their slug. */
const PROVIDER_NAMES: Record<string, string> = {
  github: 'GitHub',
  discord: 'Discord',
  linuxdo: 'LinuxDO',
  oidc: 'OpenID Connect',
  telegram: 'Telegram',
  wechat: 'WeChat',
};

const placeOf = ({ ip, decidingIp, userAgent }: RequestOrigin): NoticePlace => ({
  device: nameDevice(userAgent),
  ip,
  toldBy: ip === decidingIp ? '' : addressKey(decidingIp),
});
