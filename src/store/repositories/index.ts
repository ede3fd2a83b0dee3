import type { LeaseBinding } from '../drivers/memory-leases.ts';
import { toStoreError } from '../errors.ts';
import type { Repositories } from '../ports/index.ts';
import { createApiKeyStore } from './api-keys.ts';
import { createBackupStore } from './backups.ts';
import { createBalanceAlertStore } from './balance-alerts.ts';
import { createChannelStore } from './channels.ts';
import { type ContextDeps, createContext } from './context.ts';
import { createFigureStore } from './figures.ts';
import { createFlowStore } from './flows.ts';
import { createIdempotencyStore } from './idempotency.ts';
import { createIdentityStore } from './identities.ts';
import { createImportStore } from './imports.ts';
import { createLedgerStore } from './ledger.ts';
import { createLogStore } from './logs.ts';
import { createOAuthProviderStore } from './oauth-providers.ts';
import { createPasskeyStore } from './passkeys.ts';
import { createPersonalDataStore } from './personal-data.ts';
import { createPluginOutcomeStore, createPluginSourceStore } from './plugin-history.ts';
import { createPluginStore } from './plugins.ts';
import { createPreviewStore } from './previews.ts';
import { createRelayStore } from './relays.ts';
import { createResultStore } from './results.ts';
import { createRetentionStore } from './retention.ts';
import { createSampleStore } from './samples.ts';
import { createSealedStore } from './sealed.ts';
import { createSessionStore } from './sessions.ts';
import { createNodeStore, createOptionStore, createPriceStore } from './settings.ts';
import { createTaskViewStore } from './task-views.ts';
import { createTaskStore } from './tasks.ts';
import { createTwoFactorStore } from './two-factor.ts';
import { createUsageStore } from './usage.ts';
import { createUserStore } from './users.ts';
import { createWebhookStore } from './webhooks.ts';

/**
 * All repositories over one way to run statements. They throw the store's errors, never a driver's.
 */
export function createRepositories(deps: ContextDeps, memory?: LeaseBinding): Repositories {
  const context = createContext(deps);
  return {
    users: withStoreErrors(createUserStore(context)),
    sessions: withStoreErrors(createSessionStore(context)),
    flows: withStoreErrors(createFlowStore(context)),
    twoFactor: withStoreErrors(createTwoFactorStore(context)),
    passkeys: withStoreErrors(createPasskeyStore(context)),
    identities: withStoreErrors(createIdentityStore(context)),
    providers: withStoreErrors(createOAuthProviderStore(context)),
    apiKeys: withStoreErrors(createApiKeyStore(context)),
    channels: withStoreErrors(createChannelStore(context)),
    plugins: withStoreErrors(createPluginStore(context)),
    pluginSources: withStoreErrors(createPluginSourceStore(context)),
    pluginOutcomes: withStoreErrors(createPluginOutcomeStore(context)),
    tasks: withStoreErrors(createTaskStore(context, memory)),
    idempotency: withStoreErrors(createIdempotencyStore(context)),
    webhooks: withStoreErrors(createWebhookStore(context)),
    relays: withStoreErrors(createRelayStore(context)),
    results: withStoreErrors(createResultStore(context)),
    previews: withStoreErrors(createPreviewStore(context)),
    ledger: withStoreErrors(createLedgerStore(context)),
    prices: withStoreErrors(createPriceStore(context)),
    logs: withStoreErrors(createLogStore(context)),
    figures: withStoreErrors(createFigureStore(context)),
    usage: withStoreErrors(createUsageStore(context)),
    samples: withStoreErrors(createSampleStore(context)),
    options: withStoreErrors(createOptionStore(context)),
    nodes: withStoreErrors(createNodeStore(context)),
    retention: withStoreErrors(createRetentionStore(context)),
    personalData: withStoreErrors(createPersonalDataStore(context)),
    backups: withStoreErrors(createBackupStore(context)),
    balanceAlerts: withStoreErrors(createBalanceAlertStore(context)),
    imports: withStoreErrors(createImportStore(context)),
    taskViews: withStoreErrors(createTaskViewStore(context)),
    sealed: withStoreErrors(createSealedStore(context)),
  };
}

type Method = (...args: never[]) => Promise<unknown>;

function withStoreErrors<T extends object>(repository: T): T {
  const wrap =
    (method: Method): Method =>
    async (...args) => {
      try {
        return await method(...args);
      } catch (error) {
        throw toStoreError(error);
      }
    };
  return Object.fromEntries(Object.entries(repository).map(([name, method]) => [name, wrap(method as Method)])) as T;
}
