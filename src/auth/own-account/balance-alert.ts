import type { Clock, SecretBox } from '../../kernel/index.ts';
import { type BalanceAlertRecord, MAIL, type Store, type WebhookDelivery } from '../../store/ports/index.ts';
import { newWebhookSecret } from '../api-keys/rotate-webhook-secret.ts';
import { validateWebhookUrl } from '../api-keys/validate-api-key.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  secretBox: SecretBox;
  config: AuthConfig;
  settings: () => AuthSettings;
};

/** The warning of a low balance, as its user sees it. Money is quota. */
export type BalanceAlertView = {
  /** False: the operator has switched warnings off. */
  is_offered: boolean;
  /** null: the operator's default; 0: no warning. */
  threshold: number | null;
  default_threshold: number;
  /** The available balance: what running tasks reserve is already taken off. */
  balance: number;
  is_low: boolean;
  mail: boolean;
  /** False: the gateway sends no email, or the account has no address. */
  can_mail: boolean;
  webhook_url: string | null;
  webhook_secret: 'none' | 'ready' | 'unreadable';
  /** When the last warning was made, until a top-up; 0: none since then. */
  warned_at: number;
  /** The last attempt to call the webhook; null: there was none. */
  last_delivery: { status: string; at: number; http_status: number; error: string } | null;
};

export type BalanceAlertEdit = {
  threshold?: number | null | undefined;
  mail?: boolean | undefined;
  webhook_url?: string | null | undefined;
};

/** The secret is in clear text, and shown only in this answer. */
export type BalanceAlertSaved = BalanceAlertView & { new_secret: string | null };

/** Deliveries that are looked at: emails and the operator's are among them. */
const LATEST = { page: 1, pageSize: 5 };

const balanceSubject = (userId: number): string => `balance:${userId}`;

/** The caller's own warning. */
export async function readBalanceAlert(
  { store, secretBox, settings }: { store: Store; secretBox: SecretBox; settings: () => AuthSettings },
  { user: { id } }: PanelPrincipal,
): Promise<BalanceAlertView> {
  const [alert, user, notices] = await Promise.all([
    store.balanceAlerts.byUser(id),
    store.users.byId(id),
    store.webhooks.listOfTask(balanceSubject(id), LATEST),
  ]);
  const { mail, balanceAlerts } = settings();
  const balance = user?.quota ?? 0;
  const threshold = alert?.threshold ?? null;
  const applied = balanceAlerts.offered ? (threshold ?? balanceAlerts.fallback) : 0;
  // Not the operator's webhook about the same balance.
  const notice = notices.items.find(
    ({ userId, url, deliveries }) => userId === id && url !== MAIL && deliveries.length > 0,
  );
  return {
    is_offered: balanceAlerts.offered,
    threshold,
    default_threshold: balanceAlerts.fallback,
    balance,
    is_low: applied > 0 && balance < applied,
    mail: alert?.mail ?? true,
    can_mail: mail !== undefined && Boolean(user?.email),
    webhook_url: alert?.webhookUrl ?? null,
    webhook_secret: describeSecret(secretBox, alert),
    warned_at: alert?.toldAt ?? 0,
    last_delivery: notice ? describeDelivery(notice.status, notice.deliveries.at(-1)) : null,
  };
}

/**
 * Changes the caller's own warning. The first address gets a secret, which signs its webhooks.
 *
 * @throws `auth.validation_failed` for an address that may not be called.
 */
export async function editBalanceAlert(
  ctx: Deps,
  principal: PanelPrincipal,
  edit: BalanceAlertEdit,
): Promise<BalanceAlertSaved> {
  const { store, secretBox, config, clock } = ctx;
  const { id } = principal.user;
  const secret = await store.transaction(async (tx) => {
    // What this edit does not name stays as an edit at the same moment left it.
    const [present] = await tx.users.lock([id]);
    if (!present) throw authErrors.session_revoked();
    const alert = await tx.balanceAlerts.byUser(id);
    const { threshold = alert?.threshold ?? null, mail = alert?.mail ?? true } = edit;
    const { webhook_url: given } = edit;
    const webhookUrl =
      given === undefined
        ? (alert?.webhookUrl ?? null)
        : given === null
          ? null
          : validateWebhookUrl(given, config.checkWebhookUrl);
    const first = webhookUrl !== null && !alert?.webhookSecretSealed ? newWebhookSecret() : null;
    await tx.balanceAlerts.choose(id, { threshold, mail, webhookUrl }, clock.unix());
    const isFirst = first !== null && (await tx.balanceAlerts.setFirstSecret(id, secretBox.seal(first)));
    return isFirst ? first : null;
  });
  return { ...(await readBalanceAlert(ctx, principal)), new_secret: secret };
}

/** Replaces the secret at once: the next webhook is signed with the new one alone. */
export async function rotateBalanceAlertSecret(
  ctx: { store: Store; secretBox: SecretBox; settings: () => AuthSettings },
  principal: PanelPrincipal,
): Promise<BalanceAlertSaved> {
  const secret = newWebhookSecret();
  await ctx.store.balanceAlerts.setSecret(principal.user.id, ctx.secretBox.seal(secret));
  return { ...(await readBalanceAlert(ctx, principal)), new_secret: secret };
}

function describeSecret(
  secretBox: SecretBox,
  alert: BalanceAlertRecord | undefined,
): BalanceAlertView['webhook_secret'] {
  if (!alert?.webhookSecretSealed) return 'none';
  return secretBox.open(alert.webhookSecretSealed) === undefined ? 'unreadable' : 'ready';
}

const describeDelivery = (status: string, delivery: WebhookDelivery | undefined): BalanceAlertView['last_delivery'] =>
  delivery ? { status, at: delivery.at, http_status: delivery.httpStatus, error: delivery.error } : null;
