import type { Billing } from '../../billing/index.ts';
import { type CapacityService, mapModel } from '../../channels/index.ts';
import { createSmallFiles, type ResultStorage } from '../../files/index.ts';
import type { Clock, JsonObject, Logger, ReportCacheSize } from '../../kernel/index.ts';
import { createWebhooks, type WebhookServices, type Webhooks } from '../../notifications/index.ts';
import type { Pin, PluginOutcome } from '../../plugins/index.ts';
import { createRelay, type Relay } from '../../relay/index.ts';
import { createReports, type Reports } from '../../reports/index.ts';
import {
  createLinkLimit,
  createResolvedLinks,
  createResults,
  createVerifiedLinks,
  describeArtifacts,
  type LinkLimits,
  type ResultDeps,
  type Results,
} from '../../results/index.ts';
import type { ChannelRecord, Counters, Store } from '../../store/ports/index.ts';
import { type Batches, createBatches, createSurfaces, type Surfaces } from '../../surfaces/index.ts';
import {
  createOutcomeCounter,
  createTaskNode,
  createTasks,
  createUnrecordedJobs,
  type JobNotes,
  type TaskDeps,
  type TaskLimits,
  type TaskNode,
  type Tasks,
  type TaskTelemetry,
  taskErrors,
  type UnrecordedJobs,
} from '../../tasks/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import {
  createDownloadLimit,
  createKeySecrets,
  createSendToVendor,
  createVendorCallbacks,
  recordTrial,
  type TryChannel,
  tryAccounts,
  type VendorDeps,
} from '../../vendors/index.ts';

/** What the rooms around tasks are made from. */
export type TaskParts = {
  store: Store;
  clock: Clock;
  logger: Logger;
  vendors: Omit<VendorDeps, 'clock' | 'keySecrets' | 'downloads' | 'send' | 'callbacks'> & {
    upstream: Upstream;
    /** Where vendors reach the gateway; absent: nowhere. */
    callbackAddress?: () => string | undefined;
  };
  billing: Billing;
  pin: () => Pin;
  storage: ResultStorage;
  webhooks: WebhookServices;
  limits: TaskLimits & { links: LinkLimits };
  telemetry: Omit<TaskTelemetry, 'outcomes'> & {
    /** Called when a call of a plugin version ends. */
    onOutcome?: (outcome: PluginOutcome) => void;
  };
  node: Pick<TaskNode, 'id' | 'random' | 'canStore'> & {
    capacity: CapacityService;
    /** Absent: jobs that cannot be recorded are held in memory alone. */
    jobNotes?: JobNotes;
  };
  links: {
    /** CRYPTO_SECRET and its predecessors. */
    secrets: readonly [string, ...string[]];
    publicAddress: () => string | undefined;
    /** Shared by all nodes when Redis is configured. */
    counters: Counters;
  };
};

export type TaskServices = {
  tasks: Tasks;
  surfaces: Surfaces;
  batches: Batches;
  results: Results;
  relay: Relay;
  reports: Reports;
  webhooks: Webhooks;
  unrecorded: UnrecordedJobs;
  tryChannel: TryChannel;
};

/** Creates the rooms around tasks, from the lowest to the highest. */
export function composeTasks(parts: TaskParts): TaskServices {
  const { store, clock, logger, limits } = parts;
  const { onOutcome = () => {}, ...telemetry } = parts.telemetry;
  const { reportCacheSize } = telemetry;
  const { upstream, channels, serviceAccounts, ownAddresses, callbackAddress = () => undefined } = parts.vendors;
  const { jobNotes, ...node } = parts.node;
  const unrecorded = createUnrecordedJobs({ store, clock, logger }, jobNotes);
  const deps: TaskDeps = {
    ...{ store, clock, logger, limits },
    ...{ billing: parts.billing, pin: parts.pin, storage: parts.storage, webhooks: parts.webhooks },
    vendors: {
      ...{ clock, channels, serviceAccounts, ownAddresses },
      send: createSendToVendor({ upstream, channels }),
      callbacks: createVendorCallbacks(parts.links.secrets, callbackAddress),
      keySecrets: createKeySecrets(channels),
      downloads: limitDownloads(limits.links),
    },
    telemetry: { ...telemetry, outcomes: createOutcomeCounter(clock, onOutcome) },
    node: createTaskNode(
      { store, clock, logger, limits, webhooks: parts.webhooks, billing: parts.billing },
      {
        ...node,
        unrecorded,
        wakeResults: () => results.wake(),
        onWritten({ callbackUrl }) {
          tasks.taskWritten();
          if (callbackUrl !== null) webhooks.taskChanged();
        },
      },
    ),
  };
  const tasks = createTasks(deps);
  const relay = createRelay({
    ...deps,
    async linkVideo({ relayId, userId }) {
      const linkVideo = await results.linkVideos(userId);
      return linkVideo({ taskId: relayId, linkVersions: '', status: 'SUCCESS' });
    },
  });
  const resultDeps: ResultDeps = {
    ...{ store, clock, logger, vendors: deps.vendors, pin: deps.pin, storage: deps.storage },
    ...{ telemetry: deps.telemetry, node: deps.node },
    links: openLinks(parts, reportCacheSize),
    memory: {
      resolvedLinks: createResolvedLinks({ clock, ...(reportCacheSize && { reportCacheSize }) }),
      smallFiles: createSmallFiles(parts.storage, reportCacheSize),
    },
    wakeWebhooks: () => webhooks.taskChanged(),
    findRelayed: relay.linkedVideo,
  };
  const results = createResults(resultDeps);
  const webhooks = createWebhooks({
    ...{ store, clock, logger, webhooks: parts.webhooks, tracer: telemetry.tracer },
    ...{ nodeId: deps.node.id, random: deps.node.random },
    async listArtifacts(task) {
      const { task_id: _, ...listed } = await describeArtifacts(resultDeps, task);
      return listed as unknown as JsonObject;
    },
    async requireTask(taskId, userId) {
      const found = (await store.tasks.byTaskId(taskId)) ?? (await store.batches.byId(taskId));
      if (!found || (userId !== null && found.userId !== userId)) throw taskErrors.task_not_found();
    },
  });
  const isResting = (channel: ChannelRecord): boolean =>
    channel.models.length > 0 &&
    channel.models.every((model) => parts.node.capacity.rests(channel, mapModel(channel.modelMapping, model)));
  const reports = createReports({ store, clock, isResting, ...(reportCacheSize && { reportCacheSize }) });
  const surfaces = createSurfaces({ ...deps, results }, relay);
  const batches = createBatches({ ...deps, results }, () => webhooks.taskChanged());

  return {
    ...{ tasks, surfaces, batches, results, relay, reports, webhooks, unrecorded },
    async tryChannel(accounts, userId, signal) {
      const tried = await tryAccounts({ ...deps.vendors, pin: deps.pin }, { accounts, userId, signal });
      const [first] = accounts;
      if (first && !signal.aborted) await recordTrial({ store, clock }, first.channel.id, tried.outcome);
      reports.channelHealth.forget();
      return tried;
    },
  };
}

/**
 * Starts what these rooms do in the background. Await it before the listener opens: on SQLite the
 * start of polling ends the leases of an earlier process, and a submission that had come in by then
 * would lose its own.
 */
export async function startTaskRooms(
  {
    tasks,
    relay,
    results,
    webhooks,
    unrecorded,
  }: Pick<TaskServices, 'tasks' | 'relay' | 'results' | 'webhooks' | 'unrecorded'>,
  options: { poll: boolean },
): Promise<void> {
  await webhooks.start();
  await tasks.start(options);
  await relay.start();
  await results.start();
  unrecorded.start();
}

const limitDownloads = ({ downloads: { node, address } }: LinkLimits) => createDownloadLimit({ node, user: address });

function openLinks({ limits, links }: TaskParts, reportCacheSize: ReportCacheSize | undefined): ResultDeps['links'] {
  const { secrets, publicAddress, counters } = links;
  return {
    ...{ limits: limits.links, secrets, publicAddress },
    guard: createLinkLimit({ counters, ...(reportCacheSize && { reportCacheSize }) }, limits.links),
    verified: createVerifiedLinks(secrets, reportCacheSize),
  };
}
