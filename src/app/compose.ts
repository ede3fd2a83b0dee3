import { join } from 'node:path';
import { factoryPlugins } from '../../build/factory/manifest.gen.ts';
import { panelManifest } from '../../build/panel/manifest.gen.ts';
import {
  type Auth,
  createAuth,
  createCleanUp,
  findRelyingParty,
  rootHasOtherSignInMethod,
  tryOidc,
} from '../auth/index.ts';
import { createBilling } from '../billing/index.ts';
import { type Channels, createChannels } from '../channels/index.ts';
import { createHttpApp, createMetrics } from '../http/index.ts';
import type { Clock, Logger, SecretBox } from '../kernel/index.ts';
import { createMarketplace, createPluginService, type HookCall, type PluginService } from '../plugins/index.ts';
import type { Sandbox } from '../sandbox/index.ts';
import {
  authSettings,
  configuredAddress,
  createLiveOptions,
  createOptionTrials,
  createRiskLog,
  createSettingsService,
  DEFAULT_MARKET_SOURCES,
  describeMissingAddress,
  describeRisks,
  describeStatus,
  type NodeAddress,
  readOptions,
  type SettingsService,
  serverAddress,
  taskPublicAddress,
} from '../settings/index.ts';
import type { Store } from '../store/ports/index.ts';
import { createCallbackUrls, createTasks } from '../tasks/index.ts';
import { createSendMail, createServiceAccountTokens, createUpstream } from '../upstream/index.ts';
import { authConfig, cleanUpConfig } from './config/auth-config.ts';
import { billingSettings } from './config/billing-settings.ts';
import { isLoopback } from './config/check-config.ts';
import { decidingProxies } from './config/config-kinds.ts';
import type { Config } from './config/config-variables.ts';
import type { Secrets } from './config/load-secrets.ts';
import { marketSources } from './config/market-sources.ts';
import { configuredNode, listeningAddress } from './config/node-address.ts';
import { panelHostNames } from './config/panel-names.ts';
import { signInRetention } from './config/sign-in-retention.ts';
import { openShared } from './open-shared.ts';
import { createLedgerCheck } from './operations/check-ledger.ts';
import { createDemoChannel } from './operations/demo-channel.ts';
import { describeSystem } from './operations/describe-system.ts';
import { measureLag } from './operations/event-loop-lag.ts';
import { listAttention } from './operations/list-attention.ts';
import { listOfferedModels } from './operations/list-offered-models.ts';
import { createPluginFacts } from './operations/plugin-facts.ts';
import { countSignIns, measureCaches, measurePolls, registerMetrics } from './operations/register-metrics.ts';
import { startCleanUp } from './operations/run-clean-up.ts';
import { createDiskWatch } from './operations/watch-disks.ts';
import type { Shutdown } from './shutdown.ts';
import { VERSION } from './version.ts';

const MIB = 1024 * 1024;
/** In the data directory. */
const UPLOADS_FOLDER = 'taskgate.uploads';
/** How long a stop waits for mails under way. */
const MAIL_GRACE_MS = 5000;
/** How long a stop waits for polls under way before it gives their leases back. */
const POLL_GRACE_MS = 5000;
/**
 * How long a stop waits for deliveries under way before it gives them to other nodes, or to the
 * next start.
 */
const WEBHOOK_GRACE_MS = 3000;
/**
 * A claim of tasks to poll, renewed while work goes on: after a dead node another one goes on with
 * them so much later at most.
 */
const POLL_LEASE_MS = 30_000;

type Foundation = {
  config: Config;
  clock: Clock;
  logger: Logger;
  store: Store;
  sandbox: Sandbox;
  secretBox: SecretBox;
  secrets: Secrets;
  nodeId: string;
  stops: Shutdown;
  development?: Development;
  /** What the configuration deserves a word for. */
  warnings?: readonly string[];
};

/**
 * A gateway for one plugin that its author works on: none of those that ship with it serves, and
 * every hook call is told.
 */
export type Development = { onHookCall: (call: HookCall) => void };

export type Services = {
  /**
   * Opens the listener. `address` is for a browser on this machine. Throws the platform's error,
   * for instance `EADDRINUSE`.
   */
  listen(): { address: string; port: number };
  /** The one-time set-up link of this start, undefined once there is an administrator. */
  openSetupLink(): Promise<string | undefined>;
  auth: Auth;
  channels: Channels;
  plugins: PluginService;
  options: SettingsService;
};

/**
 * Wires every room to those it may use, and starts them; the listener stays closed. Each adds its
 * own end to `stops`.
 */
export async function composeServices(foundation: Foundation): Promise<Services> {
  const { config, clock, logger, store, sandbox, secretBox, secrets, nodeId, stops, development } = foundation;
  const syncFrequencyMs = config.syncFrequency * 1000;

  const metrics = createMetrics();
  const watchCache = measureCaches(metrics.registry);
  sandbox.watchCaches(watchCache);
  const upstream = createUpstream({ allowPrivate: config.upstreamAllowPrivate, clock, logger });
  stops.add('upstream', () => upstream.close());
  // UPSTREAM_ALLOW_PRIVATE is for vendors, whom administrators choose; receivers are chosen by
  // whoever has an API key.
  const { ranges: privateRanges } = config.webhookAllowedHosts;
  const receivers = createUpstream({ allowPrivate: false, privateRanges, clock, logger });
  stops.add('receivers', () => receivers.close());

  const plugins = createPluginService({
    store,
    sandbox,
    clock,
    logger,
    factory: development ? [] : factoryPlugins,
    ...development,
    syncFrequencyMs,
  });
  const facts = createPluginFacts(plugins);
  const channels = createChannels({ store, clock, logger, secretBox, plugins: facts, syncFrequencyMs });
  const warnOfRisks = createRiskLog(logger);
  const options = createLiveOptions({
    store,
    logger,
    secretBox,
    syncFrequencyMs,
    onReading: () => warnOfRisks(settings()),
  });
  const billing = createBilling({
    store,
    clock,
    logger,
    syncFrequencyMs,
    declaredFacts: facts.declaredFacts,
    watchCache,
    settings: () => billingSettings(options),
  });
  const node: NodeAddress = { ...configuredNode(config), listening: '' };
  let { port } = config;
  for (const [name, room] of Object.entries({ plugins, channels, billing, options })) {
    stops.add(name, () => room.stop());
  }
  // Stored plugins are judged in the first sandbox process; what follows is built meanwhile.
  const started = Promise.all([plugins.start(), channels.start(), billing.start(), options.start()]);

  const settings = () => authSettings(options, node);
  const shared = openShared(foundation, watchCache);
  const auth = createAuth({
    onSignIn: countSignIns(metrics.registry),
    upstream,
    sendMail: createSendMail(),
    store,
    ...shared,
    watchCache,
    clock,
    logger,
    secretBox,
    config: authConfig(config, secrets),
    settings,
    settingsIn: async (tx) => authSettings(readOptions(await tx.options.all(), secretBox), node),
  });
  // After the listener has closed, before what it works with does.
  stops.add('mail', () => auth.mail.stop(MAIL_GRACE_MS));
  const uploadsFolder = join(config.dataDir, UPLOADS_FOLDER);
  const disks = createDiskWatch({
    places: [
      ...(store.dialect === 'sqlite' ? [{ name: 'data' as const, path: config.dataDir }] : []),
      { name: 'uploads', path: uploadsFolder },
    ],
    databaseFault: () => store.writeFault(),
    clock,
    logger,
  });
  const tasks = createTasks({
    store,
    clock,
    logger,
    upstream,
    serviceAccounts: createServiceAccountTokens({ upstream, clock, watchCache }),
    webhooks: {
      upstream: receivers,
      urls: createCallbackUrls(config.webhookAllowedHosts),
      secretBox,
      updateEveryMs: config.webhookUpdateSeconds * 1000,
      hostConcurrency: config.webhookHostConcurrency,
      attemptMs: config.webhookTimeoutSeconds * 1000,
    },
    channels,
    billing,
    pin: () => plugins.pin(),
    nodeId,
    limits: {
      pollIntervalMs: config.pollIntervalSeconds * 1000,
      pollChannelConcurrency: config.pollChannelConcurrency,
      pollMaxFailures: config.pollMaxFailures,
      taskTimeoutMinutes: config.taskTimeoutMinutes,
      pollLeaseMs: POLL_LEASE_MS,
      claimLimit: config.taskQueryLimit,
      submitTimeoutMs: config.protocolTimeoutSeconds * 1000,
      tickMs: config.protocolTickMs,
      tickJitterMs: config.protocolTickJitterMs,
      observations: {
        node: config.protocolGlobalConcurrency,
        plugin: config.protocolPluginConcurrency,
        user: config.protocolUserConcurrency,
        key: config.protocolKeyConcurrency,
      },
      links: {
        days: config.artifactLinkDays,
        invalidPerMinute: config.artifactInvalidPerMinute,
        downloads: {
          node: config.artifactGlobalConcurrency,
          address: config.artifactIpConcurrency,
          artifact: config.artifactObjectConcurrency,
        },
      },
      maxFileBytes: config.maxFileMb * MIB,
    },
    cryptoSecrets: secrets.crypto,
    publicAddress: () => taskPublicAddress(options, node),
    ownAddresses: () => [
      ...[taskPublicAddress(options, node) ?? '', serverAddress(options, node), node.listening],
      ...config.cookieTrustedUrls,
    ],
    counters: shared.counters,
    watchCache,
    canStore: () => disks.canStore(),
    onPoll: measurePolls(metrics.registry),
  });
  registerMetrics(metrics.registry, { tasks, sandbox, disks });
  stops.add('lag', measureLag(metrics.registry, clock));

  const optionDesk = createSettingsService({
    store,
    secretBox,
    clock,
    reload: () => options.reload(),
    rootHasOtherSignInMethod: (tx, changed) => rootHasOtherSignInMethod(tx, authSettings(changed, node)),
  });

  const offeredModels = () => listOfferedModels(plugins, channels);
  const demo = createDemoChannel({ store, channels, plugins, secretBox, clock, logger });
  const ledger = createLedgerCheck({ store, clock, logger });
  const http = createHttpApp({
    config: {
      secureCookies: config.cookieSecure,
      trustedOrigins: config.cookieTrustedUrls,
      trustedProxies: config.trustedProxies,
      decidingProxies: decidingProxies(config.trustedProxies),
      tls: config.tlsCert !== '',
      metricsToken: config.metricsToken,
      maxFileBytes: config.maxFileMb * MIB,
      heartbeatMs: config.protocolHeartbeatSeconds * 1000,
      uploadsFolder,
      hostGuard: isLoopback(config.host)
        ? { names: () => panelHostNames(config, options), port: () => port }
        : undefined,
    },
    auth,
    channels,
    billing,
    tasks,
    plugins,
    marketplace: createMarketplace({
      plugins,
      upstream,
      sources: () => marketSources(options),
      shippedSources: DEFAULT_MARKET_SOURCES,
      mirrorDir: config.marketplaceDir,
      ...{ clock, logger, watchCache },
    }),
    options: optionDesk,
    optionTrials: createOptionTrials({
      options,
      upstream,
      tryOidc: (oidc) => tryOidc(upstream, oidc, `${settings().serverAddress}/oauth/oidc`),
      tryMail: (to, language) => auth.mail.test(to, language),
    }),
    publicSettings: () => {
      const auth = settings();
      return describeStatus(options, {
        auth,
        relyingParty: findRelyingParty(auth),
        address: configuredAddress(options, node),
      });
    },
    publicProviders: () => auth.oauth.providers.listPublic(),
    legalTexts: () => ({
      user_agreement: options.text('legal.user_agreement'),
      privacy_policy: options.text('legal.privacy_policy'),
    }),
    offeredModels,
    records: store.logs,
    system: () => describeSystem({ store, clock, config, nodeId, sandbox, plugins, tasks, ledger }),
    demoChannel: () => demo.make(),
    attention: () =>
      listAttention({
        ...{ store, clock, plugins, channels, billing, tasks, ledger, offeredModels, disks },
        missingAddress: () => describeMissingAddress(options, node),
        risks: () => [...(foundation.warnings ?? []), ...describeRisks(settings())],
        taskTimeoutMinutes: config.taskTimeoutMinutes,
        unlistedProxy: http.unlistedProxy(),
      }),
    readiness: {
      // The store opens migrated or not at all, so its answer covers the migrations.
      database: () => store.ping(),
      sandbox: () => sandbox.ready(),
      disk: () => disks.requireWritable(),
    },
    metrics,
    panel: panelManifest,
    version: VERSION,
    clock,
    logger,
  });

  await started;
  // Its port may have gone to another program; nothing else here shall fail with it.
  await demo.start().catch((error) => logger.warn({ err: error }, 'the demo vendor could not be started'));
  stops.add('demo vendor', () => demo.stop());
  await disks.start();
  stops.add('disks', () => disks.stop());
  // Stopped after polling, whose last transitions are told yet.
  await tasks.webhooks.start();
  stops.add('webhooks', () => tasks.webhooks.stop(WEBHOOK_GRACE_MS));
  // Before the listener opens: on SQLite the start of polling ends the leases of an earlier
  // process, and a submission that had come in by then would lose its own.
  await tasks.start({ poll: config.updateTask });
  stops.add('polling', () => tasks.stop(POLL_GRACE_MS));

  return {
    listen() {
      const tls = config.tlsCert === '' ? undefined : { certFile: config.tlsCert, keyFile: config.tlsKey };
      const listening = http.listen({ host: config.host, port: config.port, ...(tls ? { tls } : {}) });
      stops.add('listener', () => listening.stop(config.shutdownSeconds * 1000));
      // First: the listener waits for its answers, and a stream would go on for as long as its
      // task.
      stops.add('observations', () => tasks.endObservations());
      if (config.nodeRole === 'master') {
        const cleanUp = createCleanUp({
          store,
          clock,
          logger,
          config: cleanUpConfig(config),
          others: [
            {
              step: 'idempotency keys',
              deleteBatch: (limit) => store.idempotency.deleteExpired(clock.unix(), limit),
            },
            { step: 'webhooks', deleteBatch: (limit) => tasks.webhooks.deleteOld(limit) },
            ...signInRetention(config, store, clock),
            { step: 'relayed requests', deleteBatch: (limit) => tasks.relay.deleteOld(limit) },
          ],
        });
        const cleaning = startCleanUp({ cleanUp, clock, logger });
        stops.add('clean-up', () => cleaning.stop());
      }
      ({ port } = listening);
      node.listening = listeningAddress(config, port);
      return { address: node.listening, port };
    },
    async openSetupLink() {
      const token = await auth.setup.openLink();
      return token === undefined ? undefined : `${settings().serverAddress}/setup#token=${token}`;
    },
    ...{ auth, channels, plugins, options: optionDesk },
  };
}
