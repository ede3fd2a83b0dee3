import { auditRetentionSteps, authCleanUpSteps, warnOfManySessions } from '../../auth/index.ts';
import type { Listening } from '../../http/index.ts';
import { AppError } from '../../kernel/index.ts';
import { findInstallation } from '../../operations/backup/manifest.ts';
import { eraseUnstoredStep, eraseUsersStep, retentionSteps } from '../../operations/index.ts';
import { sampleCleanUp, startSampling } from '../../operations/overview/sample-system.ts';
import { createCleanUp, startCleanUp } from '../../operations/retention/clean-up.ts';
import { createRetention, startRetention } from '../../operations/retention/run-retention.ts';
import { startMemoryRelease } from '../../operations/watches/release-memory.ts';
import { createPageRelease } from '../../sandbox/child/release-unused-pages.ts';
import { authSettings } from '../../settings/index.ts';
import type { CountRequest } from '../../surfaces/index.ts';
import { listeningAddress, servesTls } from '../config/node-address.ts';
import { cleanUpConfig, quietHours, retentionSettings } from '../config/room-settings.ts';
import { composeHttp } from './compose-http.ts';
import { composeServices } from './compose-services.ts';
import { startTaskRooms } from './compose-tasks.ts';
import type { DomainServices, Foundation, Services } from './types.ts';

/** How long a shutdown waits for running polls before it frees their leases. */
const POLL_GRACE_MS = 5000;
/**
 * How long a shutdown waits for running deliveries before it leaves them to other nodes, or to the
 * next start.
 */
const WEBHOOK_GRACE_MS = 3000;

export type ComposedGateway = {
  /**
   * Opens the listener and starts the clean-up on a master. `address` is for a browser on this
   * machine.
   *
   * @throws the platform's error, for instance `EADDRINUSE`
   */
  listen(): Promise<{ address: string; port: number }>;
  /** From now on `/readyz` answers 503, so that proxies send their requests elsewhere. */
  drain(): void;
  /** Reads again what can be read again: the TLS certificate. Never rejects. */
  reload(): Promise<void>;
  /** The one-time set-up link of this start, undefined once there is an administrator. */
  openSetupLink(): Promise<string | undefined>;
  services: Services;
};

/**
 * Creates every service, gives each those it may use, and starts them; the listener stays closed.
 * Each adds its own stop to `shutdown`, which stops them in the opposite order. `isDrained`: an
 * operator has taken this node out of service.
 */
export async function composeGateway(foundation: Foundation, isDrained: () => boolean): Promise<ComposedGateway> {
  const { config, clock, logger, shutdown } = foundation;
  const services = await composeServices(foundation);
  const { auth, billing, channels, plugins, node } = services;
  const { tasks, batches, relay, results, webhooks, unrecorded } = services.taskRooms;
  const { backups, balanceWatch, channelWatch, clockCheck, dataCheck, disks, vendorAccounts } = services.watches;
  const { lag } = services.observed;
  let { port } = config;
  const listeners: Listening[] = [];
  let isDraining = false;
  const certificate = servesTls(config)
    ? (await import('./open-certificate.ts')).openCertificate(foundation, services, listeners)
    : undefined;
  const { http, settingsService, demo } = composeHttp(foundation, services, {
    port: () => port,
    outOfService: () => {
      if (isDraining) return 'It is about to stop.';
      return isDrained() ? 'An operator has taken it out of service.' : undefined;
    },
    certificateFault: () => certificate?.fault(),
    certificateEnd: () => certificate?.end(),
    installation: await findInstallation(foundation.store),
  });

  await services.started;
  // The demo vendor's port may have gone to another program. Nothing else may fail because of it.
  await demo.start().catch((error) => logger.warn({ err: error }, 'the demo vendor could not be started'));
  shutdown.add('demo vendor', () => demo.stop());
  clockCheck.start();
  shutdown.add('clock', () => clockCheck.stop());
  await disks.start();
  shutdown.add('disks', () => disks.stop());
  // Webhooks stop after polling: they still deliver its last transitions.
  shutdown.add('webhooks', () => webhooks.stop(WEBHOOK_GRACE_MS));
  shutdown.add('polling', async () => {
    await Promise.all([tasks.stop(POLL_GRACE_MS), relay.stop(), results.stop(), unrecorded.stop()]);
  });
  await startTaskRooms(services.taskRooms, { poll: config.updateTask });
  shutdown.add('batches', () => batches.stop());
  batches.start(countBatched(services));

  return {
    async listen() {
      const tls = await certificate?.first();
      const place = { host: config.host, ...(tls ? { tls } : {}) };
      const listener = http.listen({ ...place, port: config.port });
      listeners.push(listener);
      const waitMs = config.shutdownSeconds * 1000;
      shutdown.add('listeners', async () => {
        await Promise.all(listeners.map((each) => each.stop(waitMs)));
      });
      if (config.resultsPort !== 0) {
        listeners.push(http.listen({ ...place, port: config.resultsPort, resultsOnly: true }));
      }
      certificate?.start();
      shutdown.add('certificate', () => certificate?.stop());
      // Observations end before the listener stops: it waits for its answers, and a stream would go
      // on for as long as its task.
      shutdown.add('observations', () => tasks.endObservations());
      if (config.nodeRole === 'master') {
        startMasterCleanUp(foundation, services);
        startMasterRetention(foundation, services);
        backups.start();
        dataCheck.start();
        channelWatch.start();
        balanceWatch.start();
        vendorAccounts.start();
      }
      shutdown.add('watch of channels', () => channelWatch.stop());
      shutdown.add('watch of balances', () => balanceWatch.stop());
      shutdown.add('balances at vendors', () => vendorAccounts.stop());
      shutdown.add('backups', () => backups.stop());
      shutdown.add('check of the data', () => dataCheck.stop());
      const sampling = startSampling({ ...foundation, tasks, takeMaxLag: () => lag.takeMaxMs() });
      shutdown.add('samples', () => sampling.stop());
      const { quietForMs } = lag;
      const releasing = startMemoryRelease({ clock, quietForMs, createPageRelease });
      shutdown.add('memory release', () => releasing.stop());
      ({ port } = listener);
      node.listening = listeningAddress(config, port);
      return { address: node.listening, port };
    },
    drain() {
      isDraining = true;
    },
    async reload() {
      await certificate?.reload();
    },
    async openSetupLink() {
      const token = await auth.setup.openLink();
      const address = authSettings(services.options, node).serverAddress;
      return token === undefined ? undefined : `${address}/setup#token=${token}`;
    },
    services: { auth, channels, plugins, options: settingsService, billing, tasks },
  };
}

/**
 * Requests of batches count as those that come alone.
 * @throws auth.rate_limited, http.maintenance
 */
const countBatched =
  ({ auth, options }: DomainServices): CountRequest =>
  async ({ user, key, group }, isRepeat) => {
    if (options.flag('maintenance.enabled')) {
      const retryAfterSeconds = options.number('maintenance.retry_after_seconds');
      throw new AppError('http.maintenance', 'unavailable', { message: 'Closed for maintenance.', retryAfterSeconds });
    }
    return auth.limits.modelRequests({ user, group, ...(key ? { key } : {}) }, () => {}, isRepeat);
  };

/** How long the sum of a budget's period is kept after it: no task of it runs any more. */
const BUDGET_SUM_SECONDS = 90 * 24 * 3600;

function startMasterCleanUp(foundation: Foundation, services: DomainServices): void {
  const { config, clock, logger, store, shutdown } = foundation;
  const { plugins, watches } = services;
  const { tasks, batches, webhooks, relay, results, reports } = services.taskRooms;
  const cleanUp = createCleanUp({
    store,
    logger,
    issuanceAlert: () => warnOfManySessions({ store, clock, logger }, config.sessionHourlyAlert),
    steps: [
      ...authCleanUpSteps({ store, clock }, cleanUpConfig(config)),
      ...plugins.cleanUpSteps,
      ...tasks.cleanUpSteps,
      { step: 'webhooks', deleteBatch: (limit) => webhooks.deleteOld(limit) },
      {
        step: 'sums of budgets',
        deleteBatch: (limit) => store.ledger.deleteBudgetSums(clock.unix() - BUDGET_SUM_SECONDS, limit),
      },
      { step: 'relayed requests', deleteBatch: (limit) => relay.deleteOld(limit) },
      ...results.cleanUpSteps,
      batches.cleanUpStep,
      reports.cleanUpStep,
      sampleCleanUp({ store, clock }),
    ],
  });
  const cleaning = startCleanUp({ cleanUp: watches.clockCheck.holdBack(cleanUp), clock, logger });
  shutdown.add('clean-up', () => cleaning.stop());
}

function startMasterRetention(foundation: Foundation, { options, observed, watches }: DomainServices): void {
  const { lag } = observed;
  const { clock, logger, store, shutdown } = foundation;
  const retention = createRetention({
    store,
    clock,
    logger,
    isBusy: () => lag.isActive(),
    quietHours: () => quietHours(options),
    urgentSteps: async () => [eraseUsersStep({ store, clock, logger }), eraseUnstoredStep({ store, clock })],
    async steps() {
      const auditDays = options.flag('retention.enabled') ? options.number('retention.audit_days') : 0;
      return [
        ...(await retentionSteps({ store, clock }, retentionSettings(options))),
        ...auditRetentionSteps({ store, clock }, auditDays),
      ];
    },
  });
  const running = startRetention({ retention: watches.clockCheck.holdBack(retention), clock, logger });
  shutdown.add('retention', () => running.stop());
}
