import type { Auth } from '../../auth/index.ts';
import type { SecretBox } from '../../kernel/index.ts';
import { type GatewayDelivery, readSecret } from '../../notifications/index.ts';
import type { OptionValues } from '../../settings/index.ts';
import { OPERATOR, type Store } from '../../store/ports/index.ts';

type Deps = {
  store: Pick<Store, 'balanceAlerts'>;
  options: OptionValues;
  secretBox: SecretBox;
  auth: Pick<Auth, 'mail'>;
};

/** Signs and emails notices: the operator's by the options, those of users by their choice. */
export function createGatewayDelivery({ store, options, secretBox, auth }: Deps): GatewayDelivery {
  const readKeys = (secret: string): Uint8Array[] => {
    const key = readSecret(secret);
    return key ? [key] : [];
  };
  return {
    async signingKeys({ userId }) {
      if (userId === OPERATOR) {
        return options.isSet('alerts.webhook_url') ? readKeys(options.secret('alerts.webhook_secret')) : undefined;
      }
      const alert = await store.balanceAlerts.byUser(userId);
      if (!alert?.webhookUrl) return undefined;
      return readKeys((alert.webhookSecretSealed && secretBox.open(alert.webhookSecretSealed)) || '');
    },
    sendMail: (notice) => auth.mail.sendStored(notice),
  };
}
