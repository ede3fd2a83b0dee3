import type { Auth, StoredMail } from '../../auth/index.ts';
import { type Clock, isoTime, type Json, type JsonObject, newMessageId } from '../../kernel/index.ts';
import type { OptionValues } from '../../settings/index.ts';
import {
  type GatewayEvent,
  LONGEST_WEBHOOK_TRIES_MS,
  MAIL,
  NO_API_KEY,
  OPERATOR,
  type Repositories,
  type Store,
} from '../../store/ports/index.ts';
import { canonicalHost } from '../../upstream/index.ts';

/** What happened to the gateway, and whom it reaches. */
export type GatewayNotice = {
  event: GatewayEvent;
  /** What it is about, such as `channel:3`: notices of one subject are sent one after the other. */
  subject: string;
  data: { [member: string]: Json };
  /** For administrators; absent: they are not mailed. */
  mail?: StoredMail | undefined;
  /** A user that it is about, and what they chose. */
  user?: { id: number; mail: StoredMail | undefined; webhookUrl: string | null };
};

export type QueueNotice = (notice: GatewayNotice) => Promise<void>;

export type Notices = {
  /** Whether notices reach the operator's receiver. */
  hasReceiver(): boolean;
  /**
   * Runs `work` in a transaction. What it queues is committed with what it writes, and is sent by
   * any node, with retries, also after this process was killed.
   */
  write(work: (tx: Repositories, queue: QueueNotice) => Promise<void>): Promise<void>;
};

type Deps = {
  store: Pick<Store, 'transaction'>;
  clock: Clock;
  options: OptionValues;
  auth: Pick<Auth, 'mail'>;
  /** Called after the commit. */
  wake: () => void;
};

/** Queues notices of the gateway beside those of tasks, in `webhook_outbox`. */
export function createNotices({ store, clock, options, auth, wake }: Deps): Notices {
  const hasReceiver = () => options.isSet('alerts.webhook_url') && options.isSet('alerts.webhook_secret');

  function createQueue(tx: Repositories): QueueNotice {
    return async ({ event, subject, data, mail, user }) => {
      const put = (userId: number, url: string, payload: JsonObject): Promise<void> =>
        tx.webhooks.putGatewayNotice(
          {
            ...{ eventId: newMessageId(), taskId: subject, userId, apiKeyId: NO_API_KEY, event, url, payload },
            host: url === MAIL ? MAIL : canonicalHost(new URL(url)),
            createdAt: clock.unix(),
          },
          LONGEST_WEBHOOK_TRIES_MS,
        );
      const payload = { type: event, timestamp: isoTime(clock.nowMs()), data };
      const isWanted = event !== 'balance.low' || options.flag('alerts.webhook_balances');
      if (hasReceiver() && isWanted) await put(OPERATOR, options.text('alerts.webhook_url'), payload);
      if (user?.webhookUrl) await put(user.id, user.webhookUrl, payload);
      if (user?.mail) await put(user.id, MAIL, user.mail);
      if (!mail) return;
      for (const id of await auth.mail.findAdministrators(tx)) await put(id, MAIL, mail);
    };
  }

  return {
    hasReceiver,
    async write(work) {
      await store.transaction((tx) => work(tx, createQueue(tx)));
      wake();
    },
  };
}
