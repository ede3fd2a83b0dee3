import type { Kit } from './kits.ts';

/** Warnings of a low balance. Times are Unix seconds. */
export const defineAlerts = (kit: Kit) => ({
  balanceAlerts: kit.table('balance_alerts', {
    userId: kit.big('user_id').primaryKey(),
    threshold: kit.big('threshold'),
    mail: kit.bool('mail').notNull().default(true),
    webhookUrl: kit.text('webhook_url'),
    webhookSecretSealed: kit.text('webhook_secret_sealed'),
    toldAt: kit.big('told_at').notNull().default(0),
    toldThreshold: kit.big('told_threshold').notNull().default(0),
  }),
});
