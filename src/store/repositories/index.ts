import { toStoreError } from '../drivers/errors.ts';
import type { LeaseBinding } from '../drivers/memory-leases.ts';
import type { Repositories, Store } from '../ports/index.ts';
import { createApiKeyStore } from './accounts/api-keys.ts';
import { createPasskeyStore, createTwoFactorStore } from './accounts/factors.ts';
import { createFlowStore } from './accounts/flows.ts';
import { createIdentityStore, createOAuthProviderStore } from './accounts/identities.ts';
import { createImportStore } from './accounts/imports.ts';
import { createSessionStore } from './accounts/sessions.ts';
import { createUserStore } from './accounts/users.ts';
import { createLogStore } from './audit/logs.ts';
import { type ContextDeps, createContext, declareAlike, findDeclaration } from './context.ts';
import { createBackupStore } from './gateway/backups.ts';
import { createChannelStore, createCredentialStore } from './gateway/channels.ts';
import { createClockStore, createNodeStore } from './gateway/nodes.ts';
import { createOptionStore, createSealedStore } from './gateway/options.ts';
import { createPluginOutcomeStore, createPluginSourceStore, createPluginStore } from './gateway/plugins.ts';
import { createPriceStore } from './gateway/prices.ts';
import { createBalanceAlertStore } from './money/balance-alerts.ts';
import { createLedgerStore } from './money/ledger.ts';
import { createPreviewStore } from './results/previews.ts';
import { createResultStore } from './results/results.ts';
import { createPersonalDataStore } from './retention/personal-data.ts';
import { createRetentionStore } from './retention/retention.ts';
import { createBatchStore } from './tasks/batches.ts';
import { createCapacityStore } from './tasks/capacity.ts';
import { createIdempotencyStore } from './tasks/idempotency.ts';
import { createWebhookStore } from './tasks/outbox.ts';
import { createQueueView } from './tasks/queue-view.ts';
import { createRelayStore } from './tasks/relays.ts';
import { createTaskViewStore } from './tasks/task-list.ts';
import { createTaskStore } from './tasks/tasks.ts';
import { createWaitingStore } from './tasks/waiting-queue.ts';
import { createFigureStore } from './usage/figures.ts';
import { createSampleStore } from './usage/samples.ts';
import { createUsageStore } from './usage/usage-sums.ts';

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
    credentials: withStoreErrors(createCredentialStore(context)),
    capacity: withStoreErrors(createCapacityStore(context)),
    plugins: withStoreErrors(createPluginStore(context)),
    pluginSources: withStoreErrors(createPluginSourceStore(context)),
    pluginOutcomes: withStoreErrors(createPluginOutcomeStore(context)),
    tasks: withStoreErrors(createTaskStore(context, memory)),
    batches: withStoreErrors(createBatchStore(context)),
    idempotency: withStoreErrors(createIdempotencyStore(context)),
    waiting: withStoreErrors(createWaitingStore(context)),
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
    queueView: withStoreErrors(createQueueView(context)),
    sealed: withStoreErrors(createSealedStore(context)),
    clock: withStoreErrors(createClockStore(context)),
  };
}

type Method = (...args: never[]) => Promise<unknown>;

function withStoreErrors<T extends object>(repository: T): T {
  const wrap = (method: Method): Method => {
    const wrapped: Method = async (...args) => {
      try {
        return await method(...args);
      } catch (error) {
        throw toStoreError(error);
      }
    };
    return declareAlike(wrapped, method);
  };
  return Object.fromEntries(Object.entries(repository).map(([name, method]) => [name, wrap(method as Method)])) as T;
}

/** `root` with a transaction of its own around each call of an atomic method. */
export function withTransactions(root: Repositories, transaction: Store['transaction']): Repositories {
  type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;
  const entries = Object.entries(root as unknown as Record<string, Methods>).map(([repository, methods]) => {
    const wrapped = Object.entries(methods).map(([name, method]) => {
      const inTransaction = (...args: unknown[]) =>
        transaction(async (tx) => (tx as unknown as Record<string, Methods>)[repository]?.[name]?.(...args));
      return [name, findDeclaration(method) === 'atomic' ? inTransaction : method];
    });
    return [repository, Object.fromEntries(wrapped)];
  });
  return Object.fromEntries(entries) as Repositories;
}
