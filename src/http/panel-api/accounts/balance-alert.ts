import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { shownUrl } from '../../../notifications/index.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

/** `onChosen`: who watches balances looks at once. */
type BalanceAlertDeps = { auth: Auth; audit: RecordAudit; onChosen: () => void };

/** The signed-in user's warning of a low balance. */
export function balanceAlertRoutes(kit: Kit, { auth, audit, onChosen }: BalanceAlertDeps) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/self/balance-alert', async ({ panel }) => ok(await auth.balanceAlert.read(panel)), {
      user: true,
      detail: {
        summary: 'Get your low-balance alert',
        description:
          'Money is quota: 500,000 are 1 USD. threshold is null for the default of the operator (default_threshold), 0 for no warning. balance is what is available: reservations of running tasks are already taken off. last_delivery is the last attempt to call webhook_url.',
      },
    })
    .put(
      '/api/user/self/balance-alert',
      async ({ panel, origin, body }) => {
        const saved = await auth.balanceAlert.edit(panel, body);
        // The query of a receiver's address may contain secrets.
        const { webhook_url: url } = body;
        const after = { ...body, ...(typeof url === 'string' ? { webhook_url: shownUrl(url) } : {}) };
        await audit(
          { panel, origin },
          { action: 'user.balance_alert', target: `user:${panel.user.id}`, detail: { after } },
        );
        onChosen();
        return ok(saved);
      },
      {
        user: true,
        body: strictObject({
          threshold: t.Optional(
            t.Union([integerSchema({ minimum: 0, maximum: 1e15 }), t.Null()], {
              description: 'Quota; 0: no warning; null: the default of the operator.',
            }),
          ),
          mail: t.Optional(t.Boolean({ description: 'Whether you get an email.' })),
          webhook_url: t.Optional(
            t.Union([t.String({ maxLength: 8192 }), t.Null()], {
              description: 'Where the webhook balance.low goes; null: nowhere.',
            }),
          ),
        }),
        detail: {
          summary: 'Update your low-balance alert',
          description:
            'A balance that is below the threshold already is reported at once, but not within an hour of the last warning. The first webhook_url gets a secret: new_secret, which only this response shows.',
        },
      },
    )
    .post(
      '/api/user/self/balance-alert/webhook-secret',
      async ({ panel, origin }) => {
        const saved = await auth.balanceAlert.rotateSecret(panel);
        await audit(
          { panel, origin },
          { action: 'user.balance_alert_secret', target: `user:${panel.user.id}`, detail: {} },
        );
        return ok(saved);
      },
      {
        user: true,
        detail: {
          summary: "Rotate your low-balance webhook's secret",
          description: 'Only this response shows it, as new_secret. The previous one no longer signs anything.',
        },
      },
    );
}
