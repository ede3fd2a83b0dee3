import { join } from 'node:path';
import { panelManifest } from '../../../build/panel/manifest.gen.ts';
import { findRelyingParty, rootHasOtherSignInMethod, tryOidc } from '../../auth/index.ts';
import { createAccountStatements } from '../../billing/index.ts';
import { createHttpApp, type HttpApp, NotReady } from '../../http/index.ts';
import { type Clock, deriveKey, hmacSha256Hex, type Logger, type Sentence } from '../../kernel/index.ts';
import { createNodeControl } from '../../operations/nodes/drain-node.ts';
import { describeBackups, describeSystem, describeSystemHistory } from '../../operations/overview/describe-system.ts';
import { listAttention } from '../../operations/overview/list-attention.ts';
import { createLedgerCheck } from '../../operations/watches/check-ledger.ts';
import { createMarketplace, type PinMarketKey } from '../../plugins/index.ts';
import { exportUser, listOfferedModels } from '../../reports/index.ts';
import {
  authSettings,
  configuredAddress,
  createOptionTrials,
  createSettingsService,
  DEFAULT_MARKET_SOURCES,
  describeMissingAddress,
  describeRisks,
  describeStatus,
  findGroupLimits,
  MARKET_SOURCES,
  readLogo,
  repinSources,
  type SettingsService,
} from '../../settings/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { isLoopback } from '../config/check-config.ts';
import { decidingProxies } from '../config/config-kinds.ts';
import { servesTls } from '../config/node-address.ts';
import { isRetentionDecided, marketSources, panelHostNames, retentionSettings } from '../config/room-settings.ts';
import { createDemoChannel, type DemoChannel } from '../demo-vendor/demo-channel.ts';
import { measureOperation } from '../telemetry/measure-operation.ts';
import { VERSION } from '../version.ts';
import { UPLOADS_FOLDER } from './compose-services.ts';
import type { DomainServices, Foundation } from './types.ts';

const MIB = 1024 * 1024;

/**
 * `port`: where the listener is, or will be. `outOfService`: why `/readyz` answers 503 although no
 * part has failed. `certificateFault`, `certificateEnd`: of its TLS certificate.
 */
type ListenerState = {
  certificateEnd: () => number | undefined;
  port: () => number;
  outOfService: () => string | undefined;
  certificateFault: () => Sentence | undefined;
};

export type HttpParts = { http: HttpApp; settingsService: SettingsService; demo: DemoChannel };

/** Creates the HTTP application over the services. The listener is opened later. */
export function composeHttp(
  foundation: Foundation,
  services: DomainServices,
  { port, outOfService, certificateFault, certificateEnd, installation }: ListenerState & { installation: string },
): HttpParts {
  const { config, clock, logger, store, sandbox, secretBox, secrets, nodeId } = foundation;
  const requestDigestKey = deriveKey(secrets.crypto[0], 'panel-request.v1');
  const { auth, channels, capacity, billing, plugins, options, node, upstream, watches } = services;
  const { tasks, surfaces, batches, results, relay, reports, webhooks, unrecorded, tryChannel } = services.taskRooms;
  const { metrics, tracing, lag, reportCacheSize } = services.observed;
  const currentAuthSettings = () => authSettings(options, node);

  const settingsService = createSettingsService({
    store,
    secretBox,
    clock,
    reload: () => options.reload(),
    rootHasOtherSignInMethod: (tx, changed) =>
      rootHasOtherSignInMethod(tx, { settings: authSettings(changed, node), secretBox }),
  });
  const offeredModels = () => listOfferedModels(plugins, channels);
  const demo = createDemoChannel({ store, channels, plugins, secretBox, clock, logger });
  const ledger = createLedgerCheck({ store, clock, logger });

  const marketplace = createMarketplace({
    plugins,
    upstream,
    store,
    sources: () => marketSources(options),
    pin: createMarketPins({ options: settingsService, store, clock, logger }),
    shippedSources: DEFAULT_MARKET_SOURCES,
    mirrorDir: config.marketplaceDir,
    clock,
    logger,
    reportCacheSize,
  });

  const maintenance = () =>
    options.flag('maintenance.enabled')
      ? {
          message: options.text('maintenance.message'),
          retryAfterSeconds: options.number('maintenance.retry_after_seconds'),
        }
      : undefined;
  const readiness = {
    // The store opens migrated or not at all, so its answer covers the migrations.
    database: () => store.ping(),
    sandbox: () => sandbox.ready(),
    disk: async () => {
      const fault = await watches.disks.findFault();
      if (fault !== undefined) throw new NotReady(fault.message);
    },
  };
  measureOperation(metrics.registry, { readiness, certificateEnd, channels, results });

  /** Whether other machines reach this node: until then nobody there can forge or miss anything. */
  const isReached = () => !node.isLoopback || http.proxies.hasProxy();
  const servesOthers = () => isReached() || options.isSet('SMTPServer');
  const http = createHttpApp({
    config: {
      secureCookies: config.cookieSecure,
      trustedOrigins: config.cookieTrustedUrls,
      trustedProxies: config.trustedProxies,
      decidingProxies: decidingProxies(config.trustedProxies),
      tls: servesTls(config),
      metricsToken: config.metricsToken,
      maxFileBytes: config.maxFileMb * MIB,
      heartbeatMs: config.protocolHeartbeatSeconds * 1000,
      uploadsFolder: join(config.dataDir, UPLOADS_FOLDER),
      installation,
      results: { origin: config.resultsOrigin, ownListener: config.resultsPort !== 0 },
      hostGuard: isLoopback(config.host) ? { names: () => panelHostNames(config, options), port } : undefined,
    },
    auth,
    gateway: {
      ...{ plugins, marketplace, channels, capacity, billing, offeredModels },
      options: settingsService,
      optionTrials: createOptionTrials({
        options,
        upstream,
        tryOidc: (oidc) => tryOidc(upstream, oidc, `${currentAuthSettings().serverAddress}/oauth/oidc`),
        tryMail: (to, language) => auth.mail.test(to, language),
        sendTestWebhook: (receiver) => webhooks.test(receiver),
      }),
      tryChannel,
      readAccounts: watches.vendorAccounts.read,
    },
    taskRooms: { tasks, surfaces, batches, results, relay, reports, webhooks },
    accounts: {
      exportUser: (userId) => exportUser({ store }, userId, clock.unix()),
      records: store.logs,
      groupLimits: (group) => findGroupLimits(options, group),
      statements: createAccountStatements(store.ledger),
      requestKeys: store.idempotency,
      digestRequest: (text) => hmacSha256Hex(requestDigestKey, text),
      onBalanceAlert: () => watches.balanceWatch.wake(),
    },
    status: {
      version: VERSION,
      isUnwritable: () => watches.disks.faults().length > 0,
      publicSettings: () => {
        const settings = currentAuthSettings();
        const relyingParty = findRelyingParty(settings);
        return describeStatus(options, { auth: settings, relyingParty, address: configuredAddress(options, node) });
      },
      publicProviders: () => auth.oauth.providers.listPublic(),
      brandLogo: () => readLogo(options),
      legalTexts: () => ({
        user_agreement: options.text('legal.user_agreement'),
        privacy_policy: options.text('legal.privacy_policy'),
      }),
    },
    operation: {
      system: () => describeSystem({ store, config, nodeId, sandbox, plugins, tasks, webhooks, ledger }),
      systemHistory: (hours) => describeSystemHistory({ store, clock }, hours),
      backups: {
        view: () => describeBackups(watches.backups),
        begin: () => watches.backups.begin(),
      },
      demoChannel: () => demo.findOrCreate(),
      attention: () =>
        listAttention({
          store,
          clock,
          gateway: { plugins, marketplace, channels, capacity, billing, offeredModels },
          taskRooms: { tasks, reports, webhooks, results, unrecorded, taskTimeoutMinutes: config.taskTimeoutMinutes },
          watches: { ...watches, ledger },
          settings: {
            servesOthers,
            missingAddress: () => (servesOthers() ? describeMissingAddress(options, node) : undefined),
            isRetentionDecided: () => isRetentionDecided(retentionSettings(options)),
            maintenance,
            warnings: () => [
              ...(foundation.warnings ?? []).filter(({ setting }) => setting !== 'TRUSTED_PROXIES' || isReached()),
              ...describeRisks(currentAuthSettings()),
            ],
            certificateFault,
            unlistedProxy: http.proxies.unlistedProxy(),
          },
        }),
      readiness,
      maintenance,
      outOfService,
      nodes: createNodeControl({ store }),
    },
    observed: {
      ...{ metrics, reportCacheSize },
      tracer: tracing?.requests,
      inRequest: foundation.inRequest,
      onRequest: () => lag.active(),
    },
    panel: panelManifest,
    development: foundation.development?.view,
    clock,
    logger,
  });
  return { http, settingsService, demo };
}

const ACTIONS = { first_use: 'plugin.market_key_pin', hand_over: 'plugin.market_key_hand_over' } as const;

/**
 * Stores the keys of marketplaces that the gateway trusts without being told: the one of a first
 * use, and the next one after a signed hand-over. Each leaves an audit row without a person.
 */
function createMarketPins(deps: {
  options: Pick<SettingsService, 'revise'>;
  store: Store;
  clock: Clock;
  logger: Logger;
}): PinMarketKey {
  const { options, store, clock, logger } = deps;
  return async ({ name, indexUrl, publicKey: from }, { text: to }, reason) => {
    const done = await options.revise(MARKET_SOURCES, (text) => repinSources(text, { indexUrl, from, to }));
    if (!done.ok || done.value === undefined) return false;
    const row = {
      ...{ userId: null, username: '', authMethod: 'gateway', ip: '' },
      action: ACTIONS[reason],
      target: `marketplace:${name}`,
      detail: { index_url: indexUrl, before: from ?? null, after: to },
      createdAt: clock.unix(),
    };
    await store.logs.addAudit(row).catch((error: unknown) => {
      logger.error({ err: error, audit: row }, 'audit row could not be stored; this line has its content');
    });
    return true;
  };
}
