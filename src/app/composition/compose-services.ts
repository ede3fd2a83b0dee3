/**
 * Creates the services below HTTP and begins to load plugins, channels, prices and options. Each
 * service adds its own stop to `shutdown`.
 */
import { join } from 'node:path';
import { factoryPlugins } from '../../../build/factory/manifest.gen.ts';
import { createAuth } from '../../auth/index.ts';
import { createBilling } from '../../billing/index.ts';
import { createCapacity, createChannels } from '../../channels/index.ts';
import { createMetrics } from '../../http/index.ts';
import { systemRandom } from '../../kernel/index.ts';
import { createCallbackUrls } from '../../notifications/index.ts';
import { createBackups } from '../../operations/backup/backup-schedule.ts';
import { createDataCheck } from '../../operations/doctor/weekly-check.ts';
import { openPreallocatedNotes } from '../../operations/storage/preallocated-notes.ts';
import { openResultFiles } from '../../operations/storage/result-files.ts';
import { createNotices } from '../../operations/watches/queue-notices.ts';
import { createBalanceWatch } from '../../operations/watches/watch-balances.ts';
import { createChannelWatch } from '../../operations/watches/watch-channels.ts';
import { createClockCheck } from '../../operations/watches/watch-clock.ts';
import { createDiskWatch } from '../../operations/watches/watch-disks.ts';
import { createVendorAccountWatch } from '../../operations/watches/watch-vendor-accounts.ts';
import { createPluginService } from '../../plugins/index.ts';
import {
  authSettings,
  createLiveOptions,
  createRiskLog,
  modelRequestSettings,
  type NodeAddress,
  readOptions,
  serverAddress,
  taskPublicAddress,
} from '../../settings/index.ts';
import { measureLag } from '../../telemetry/metrics/event-loop-lag.ts';
import { configuredNetwork, createSendMail, createServiceAccountTokens, createUpstream } from '../../upstream/index.ts';
import { createSendToVendor } from '../../vendors/index.ts';
import { configuredNode } from '../config/node-address.ts';
import {
  authConfig,
  billingSettings,
  linkLimits,
  quietHours,
  resultSettings,
  retentionSettings,
  taskLimits,
  waitingRules,
} from '../config/room-settings.ts';
import { programCommand } from '../config/sandbox-settings.ts';
import { measureCapacity } from '../telemetry/measure-capacity.ts';
import { measureCaches } from '../telemetry/measure-process.ts';
import { measureHooks } from '../telemetry/measure-sandbox.ts';
import { countSignIns } from '../telemetry/measure-sign-ins.ts';
import { measurePolls, measureTasks } from '../telemetry/measure-tasks.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { registerMetrics } from '../telemetry/register-metrics.ts';
import { composeTasks } from './compose-tasks.ts';
import { createGatewayDelivery } from './gateway-delivery.ts';
import { openRedis } from './open-redis.ts';
import { createPluginLookup } from './plugin-lookup.ts';
import type { DomainServices, Foundation } from './types.ts';

/** In the data directory. */
export const UPLOADS_FOLDER = 'taskgate.uploads';
/** A file in the data directory: jobs of vendors that could not be recorded. */
const JOBS_FILE = 'taskgate.jobs';
const MIB = 1024 * 1024;
const UNSHARED_RESULTS =
  'this node can neither keep results nor read those that other nodes keep: give all nodes the same RESULTS_URL, a folder or a bucket that they share';
/** How long a shutdown waits for emails that are being sent. */
const MAIL_GRACE_MS = 5000;
/** How long a shutdown waits for the collector of traces. */
const TRACE_GRACE_MS = 3000;

export async function composeServices(foundation: Foundation): Promise<DomainServices> {
  const { config, clock, logger, store, sandbox, secretBox, secrets, nodeId, shutdown, development } = foundation;
  const syncFrequencyMs = config.syncFrequency * 1000;

  const metrics = createMetrics();
  const lag = measureLag(metrics.registry, clock);
  shutdown.add('lag', () => lag.stop());
  const tracing = await openTracing({ config, nodeId, registry: metrics.registry, clock, logger });
  // Traces stop late, so that what ends before is still recorded.
  if (tracing) shutdown.add('traces', () => tracing.stop(TRACE_GRACE_MS));
  const observePoll = measurePolls(metrics.registry);
  const reportCacheSize = measureCaches(metrics.registry);
  sandbox.watchCaches(reportCacheSize);
  const shared = await openRedis(foundation, reportCacheSize);

  const network = configuredNetwork(config);
  const upstream = createUpstream({
    network,
    allowPrivate: config.upstreamAllowPrivate,
    clock,
    logger,
    // Downloads by link, and as many again with API keys.
    transfers: 2 * config.artifactGlobalConcurrency,
  });
  shutdown.add('upstream', () => upstream.close());
  // UPSTREAM_ALLOW_PRIVATE is for vendors, whom administrators choose. Anybody with an API key
  // chooses a receiver.
  const { ranges: privateRanges } = config.webhookAllowedHosts;
  const receivers = createUpstream({ allowPrivate: false, network, privateRanges, clock, logger });
  shutdown.add('receivers', () => receivers.close());

  const measured = measureHooks(metrics.registry, sandbox, clock);
  const plugins = createPluginService({
    store,
    sandbox: tracing ? tracing.sandbox(measured) : measured,
    clock,
    logger,
    factory: development ? [] : factoryPlugins,
    ...(development ? { onHookCall: development.onHookCall } : {}),
    syncFrequencyMs,
    autoRollback: () => options.flag('task_plugin.auto_rollback'),
  });
  const pluginLookup = createPluginLookup(plugins);
  const channels = createChannels({
    store,
    clock,
    random: systemRandom,
    logger,
    secretBox,
    plugins: pluginLookup,
    syncFrequencyMs,
  });
  const capacity = createCapacity({
    store,
    clock,
    random: systemRandom,
    logger,
    nodeId,
    accounts: channels.everyAccount,
    queues: pluginLookup.queues,
    syncFrequencyMs,
  });
  const node: NodeAddress = { ...configuredNode(config), listening: '' };
  const warnOfRisks = createRiskLog(logger);
  const options = createLiveOptions({
    store,
    logger,
    secretBox,
    syncFrequencyMs,
    onRead: () => warnOfRisks(authSettings(options, node)),
  });
  const billing = createBilling({
    store,
    clock,
    logger,
    syncFrequencyMs,
    declaredFacts: pluginLookup.declaredFacts,
    reportCacheSize,
    settings: () => billingSettings(options),
  });
  for (const [name, service] of Object.entries({ plugins, channels, capacity, billing, options })) {
    shutdown.add(name, () => service.stop());
  }
  // The first sandbox process checks the stored plugins; everything below is created beside it.
  const started = Promise.all([
    ...[plugins.start(), channels.start().then(capacity.start)],
    ...[billing.start(), options.start()],
  ]);

  const auth = createAuth({
    onSignIn: countSignIns(metrics.registry),
    upstream,
    sendMail: createSendMail({ proxy: config.smtpProxy, authorities: config.outboundAuthorities }),
    store,
    shared,
    reportCacheSize,
    clock,
    logger,
    secretBox,
    config: authConfig(config, secrets),
    settings: {
      now: () => authSettings(options, node),
      inTransaction: async (tx) => authSettings(readOptions(await tx.options.all(), secretBox), node),
      modelRequests: () => modelRequestSettings(options),
    },
  });
  // Mail stops after the listener has closed, and before the store and the options that it needs.
  shutdown.add('mail', () => auth.mail.stop(MAIL_GRACE_MS));

  const uploadsFolder = join(config.dataDir, UPLOADS_FOLDER);
  const clockCheck = createClockCheck({ store, clock, logger });
  const disks = createDiskWatch({
    folders: [
      ...(store.dialect === 'sqlite' ? [{ name: 'data' as const, path: config.dataDir }] : []),
      { name: 'uploads', path: uploadsFolder },
    ],
    databaseFault: () => store.writeFault(),
    isActive: lag.isActive,
    clock,
    logger,
  });
  const files = openResultFiles(config, { clock, logger, store });
  shutdown.add('results', () => files.close());
  // Nodes that keep in folders of their own cannot read what the others keep.
  if (store.dialect === 'postgres')
    void files.files
      .findFault()
      .then((fault) => fault === undefined || logger.error({ fault: fault.message }, UNSHARED_RESULTS))
      .catch((error) => logger.warn({ err: error }, 'the result storage could not be inspected'));
  const jobNotes = openPreallocatedNotes(join(config.dataDir, JOBS_FILE), logger);
  shutdown.add('notes of jobs', () => jobNotes.close());
  const meter = measureTasks(metrics.registry);
  const taskRooms = composeTasks({
    store,
    clock,
    logger,
    vendors: {
      upstream: tracing ? tracing.upstream(upstream, { toVendors: true }) : upstream,
      serviceAccounts: createServiceAccountTokens({
        upstream: tracing ? tracing.upstream(upstream) : upstream,
        clock,
        reportCacheSize,
      }),
      channels,
      callbackAddress: () => (config.vendorCallbacks ? taskPublicAddress(options, node) : undefined),
      ownAddresses: () => [
        config.resultsOrigin,
        taskPublicAddress(options, node) ?? '',
        serverAddress(options, node),
        node.listening,
        ...config.cookieTrustedUrls,
      ],
    },
    billing,
    pin: () => plugins.pin(),
    storage: {
      files: files.files,
      settings: () => resultSettings(options),
      maxFileBytes: config.resultsMaxFileMb * MIB,
    },
    webhooks: {
      upstream: tracing ? tracing.upstream(receivers) : receivers,
      urls: createCallbackUrls(config.webhookAllowedHosts),
      secretBox,
      updateEveryMs: config.webhookUpdateSeconds * 1000,
      hostConcurrency: config.webhookHostConcurrency,
      attemptMs: config.webhookTimeoutSeconds * 1000,
      gateway: createGatewayDelivery({ store, options, secretBox, auth }),
      keptDays: () => retentionSettings(options).webhookDays,
    },
    limits: {
      ...taskLimits(config),
      waiting: (group) => waitingRules(options, group),
      mostHeld: () => options.number('billing.memory_hold_quota'),
      links: linkLimits(config),
    },
    telemetry: {
      meter: tracing ? tracing.meter(meter) : meter,
      tracer: tracing?.tasks,
      reportCacheSize,
      onOutcome: plugins.count,
      onPoll(latenessMs) {
        lag.active();
        observePoll(latenessMs);
      },
    },
    node: { id: nodeId, random: systemRandom, capacity, canStore: () => disks.canStore(), jobNotes },
    links: {
      secrets: secrets.crypto,
      publicAddress: () => config.resultsOrigin || taskPublicAddress(options, node),
      counters: shared.counters,
    },
  });
  const { tasks, webhooks, reports } = taskRooms;
  const notices = createNotices({ store, clock, options, auth, wake: () => webhooks.noticeWritten() });
  const backups = createBackups({
    store,
    clock,
    logger,
    config,
    options,
    program: programCommand(),
    notices,
  });
  const dataCheck = createDataCheck({
    store,
    clock,
    logger,
    dataDir: config.dataDir,
    program: programCommand(),
    quietHours: () => quietHours(options),
  });
  const channelWatch = createChannelWatch({
    store,
    clock,
    logger,
    channels,
    health: reports.channelHealth,
    isMailed: () => options.flag('alerts.failing_channels') && authSettings(options, node).mail !== undefined,
    notices,
  });
  const vendorAccounts = createVendorAccountWatch({
    ...{ store, clock, logger, channels, sandbox },
    send: createSendToVendor({ upstream, channels }),
    pin: () => plugins.pin(),
  });
  const balanceWatch = createBalanceWatch({
    store,
    clock,
    logger,
    notices,
    settings() {
      const { balanceAlerts, mail, serverAddress: address } = authSettings(options, node);
      return {
        isOn: balanceAlerts.offered,
        fallback: balanceAlerts.fallback,
        canMail: mail !== undefined,
        hint: options.text('branding.balance_hint'),
        url: `${address}/notifications`,
      };
    },
  });
  const databaseSize = () => store.figures.databaseSize();
  registerMetrics(metrics.registry, {
    tasks,
    webhooks,
    sandbox,
    disks,
    backups,
    dataCheck,
    clockCheck,
    databaseSize,
    clock,
    ping: () => store.ping(),
  });

  measureCapacity(metrics.registry, { capacity, channels, tasks });

  return {
    plugins,
    channels,
    capacity,
    options,
    billing,
    auth,
    taskRooms,
    watches: { clockCheck, disks, backups, dataCheck, channelWatch, balanceWatch, vendorAccounts, notices },
    observed: { metrics, tracing, lag, reportCacheSize },
    upstream,
    node,
    started,
  };
}
