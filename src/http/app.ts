import { type AnyElysia, Elysia } from 'elysia';
import { type Auth, assertKeyAllows } from '../auth/index.ts';
import type { AccountStatements, Billing, OfferedModel } from '../billing/index.ts';
import type { CapacityService, Channels } from '../channels/index.ts';
import type { Clock, Logger, ReportCacheSize } from '../kernel/index.ts';
import type { Webhooks } from '../notifications/index.ts';
import type { Marketplace, PluginService } from '../plugins/index.ts';
import type { Relay } from '../relay/index.ts';
import type { Reports } from '../reports/index.ts';
import type { Results } from '../results/index.ts';
import type { OptionTrials, SettingsService } from '../settings/index.ts';
import type { Batches, Surfaces } from '../surfaces/index.ts';
import type { Tasks } from '../tasks/index.ts';
import type { TryChannel } from '../vendors/index.ts';
import { assemblePipeline, type HttpConfig } from './assemble-pipeline.ts';
import { createUploadBudget, openUploadFolder } from './bodies/upload-folder.ts';
import { describeApi } from './openapi/openapi-document.ts';
import { openApiRoutes } from './openapi/openapi-routes.ts';
import { createHealth, type ReadinessChecks } from './operator/health.ts';
import { createMetricsRoute, type Metrics } from './operator/metrics.ts';
import { developmentRoutes, type ViewDevelopment } from './operator/plugin-development.ts';
import { apiKeyRoutes, type GroupLimits, keyUsageRoutes } from './panel-api/accounts/api-keys.ts';
import { balanceAlertRoutes } from './panel-api/accounts/balance-alert.ts';
import {
  accountRoutes,
  accountSettingsRoutes,
  artifactLinkRoutes,
  type ExportUser,
  personalTokenRoutes,
} from './panel-api/accounts/own-account.ts';
import { userRecordRoutes, userSessionRoutes } from './panel-api/accounts/user-records.ts';
import { userRoutes } from './panel-api/accounts/users.ts';
import { exportRoutes } from './panel-api/export/export-routes.ts';
import { type BeginExport, createExportLimit } from './panel-api/export/stream-export.ts';
import { channelCapacityRoutes } from './panel-api/gateway/channel-capacity.ts';
import { channelCredentialRoutes } from './panel-api/gateway/channel-credentials.ts';
import { channelHistoryRoutes, channelTestRoutes } from './panel-api/gateway/channel-health.ts';
import { channelRoutes } from './panel-api/gateway/channels.ts';
import { marketplaceRoutes } from './panel-api/gateway/marketplace.ts';
import { pluginReviewRoutes } from './panel-api/gateway/plugin-reviews.ts';
import { pluginRoutes } from './panel-api/gateway/plugins.ts';
import { priceQuoteRoutes, priceReplayRoutes } from './panel-api/gateway/price-trials.ts';
import { pluginPriceRoutes, priceRoutes } from './panel-api/gateway/prices.ts';
import { type AnswerOnce, createAnswerOnce, type RequestKeys } from './panel-api/idempotent-answers.ts';
import { type AuditLog, auditLogRoutes } from './panel-api/operation/audit-log.ts';
import { caseRoutes } from './panel-api/operation/cases.ts';
import { nameSearchRoutes } from './panel-api/operation/name-search.ts';
import { optionRoutes } from './panel-api/operation/options.ts';
import { type DemoChannel, setupRoutes } from './panel-api/operation/setup.ts';
import { type StatusDeps, statusRoutes } from './panel-api/operation/status.ts';
import { type SystemViews, systemRoutes } from './panel-api/operation/system.ts';
import { statsRoutes, usageRoutes } from './panel-api/operation/usage.ts';
import { type UsageLog, usageLogRoutes } from './panel-api/operation/usage-log.ts';
import { createRecordAudit, type NewAuditRow, type RecordAudit } from './panel-api/record-audit.ts';
import { telegramRoutes, wechatRoutes } from './panel-api/sign-in/messengers.ts';
import { oauthRoutes } from './panel-api/sign-in/oauth.ts';
import { oauthProviderRoutes } from './panel-api/sign-in/oauth-providers.ts';
import { passkeyRoutes } from './panel-api/sign-in/passkeys.ts';
import { mailCodeRoutes, registrationRoutes } from './panel-api/sign-in/registration.ts';
import { createSessionCookies } from './panel-api/sign-in/session-cookies.ts';
import { signInRoutes } from './panel-api/sign-in/sign-in.ts';
import { twoFactorRoutes } from './panel-api/sign-in/two-factor.ts';
import { modelCatalogRoutes } from './panel-api/tasks/model-catalog.ts';
import { playgroundRoutes } from './panel-api/tasks/playground.ts';
import { queueRoutes } from './panel-api/tasks/queue.ts';
import { taskViewRoutes } from './panel-api/tasks/task-views.ts';
import { panelTaskRoutes } from './panel-api/tasks/tasks.ts';
import { webhookRoutes } from './panel-api/tasks/webhooks.ts';
import type { PanelManifest } from './panel-files/panel-manifest.ts';
import type { SeenProxies } from './pipeline/client-ip.ts';
import { closeForMaintenance, type Maintenance } from './pipeline/close-for-maintenance.ts';
import { type Listening, type ListenOptions, listen } from './pipeline/listen.ts';
import type { Kit } from './pipeline/route-kit.ts';
import type { InRequest, RequestHandler, RequestLimits, RequestTracer } from './pipeline/types.ts';
import { batchRoutes } from './v1/batch-routes.ts';
import { billingRoutes } from './v1/billing-routes.ts';
import { callbackRoutes } from './v1/callback-routes.ts';
import { mcpRoutes } from './v1/mcp-routes.ts';
import { modelRoutes } from './v1/model-routes.ts';
import { createNativeRoutes } from './v1/native-routes.ts';
import { relayRoutes } from './v1/relay-routes.ts';
import { responseObjectRoutes, responseRoutes } from './v1/response-routes.ts';
import type { V1Deps } from './v1/route-dependencies.ts';
import { taskRoutes } from './v1/task-routes.ts';
import { videoGenerationRoutes } from './v1/video-generation-routes.ts';
import { videoRoutes } from './v1/video-routes.ts';

export type HttpDeps = {
  config: HttpConfig & {
    /** MAX_FILE_DOWNLOAD_MB in bytes: the largest file in a body. */
    maxFileBytes: number;
    /** TASK_PLUGIN_PROTOCOL_HEARTBEAT_SECONDS in ms, between two comments of a stream. */
    heartbeatMs: number;
    /** A folder that holds nothing but clients' files on their way to a vendor. */
    uploadsFolder: string;
    /** The id that all nodes of this installation share. */
    installation: string;
  };
  auth: Auth;
  gateway: GatewayServices;
  taskRooms: TaskServices;
  accounts: AccountRecords;
  /** What the panel needs to know before sign-in. */
  status: Omit<StatusDeps, 'auth' | 'startedAt'>;
  operation: Operation;
  observed: Observed;
  panel: PanelManifest;
  /** Set by `plugin dev`: the calls of the plugin under development. */
  development?: ViewDevelopment | undefined;
  clock: Clock;
  logger: Logger;
};

/** What administrators set up: plugins, channels, prices and settings. */
type GatewayServices = {
  plugins: PluginService;
  marketplace: Marketplace;
  channels: Channels;
  capacity: CapacityService;
  billing: Billing;
  /** Every model that a plugin declares or a channel lists. */
  offeredModels: () => OfferedModel[];
  options: SettingsService;
  optionTrials: OptionTrials;
  /** Tests a channel step by step and at no cost. */
  tryChannel: TryChannel;
  /** Reads what is left at the vendor of each key of a channel; returns of how many. */
  readAccounts: (channelId: number, signal: AbortSignal) => Promise<number>;
};

/** What the operator is shown of the installation. */
type Operation = SystemViews & {
  demoChannel: () => Promise<DemoChannel>;
  readiness: ReadinessChecks;
  /** What clients are told while submissions are refused; undefined: they are not. */
  maintenance: () => Maintenance | undefined;
  /** Why `/readyz` sends proxies elsewhere although no part has failed. */
  outOfService: () => string | undefined;
};

/** What makes tasks and shows them. */
type TaskServices = {
  tasks: Tasks;
  surfaces: Surfaces;
  batches: Batches;
  results: Results;
  relay: Relay;
  reports: Reports;
  webhooks: Webhooks;
};

/** This gives access to the records that the gateway keeps about accounts. */
type AccountRecords = {
  groupLimits: GroupLimits;
  exportUser: ExportUser;
  records: UsageLog & AuditLog & { addAudit(row: NewAuditRow): Promise<void> };
  statements: AccountStatements;
  requestKeys: RequestKeys;
  digestRequest: (text: string) => string;
  /** Called when a user has chosen when to be warned of a low balance. */
  onBalanceAlert: () => void;
};

/** What measures and traces requests. */
type Observed = {
  metrics: Metrics;
  tracer?: RequestTracer | undefined;
  inRequest?: InRequest | undefined;
  /** Called when a request begins. */
  onRequest: () => void;
  reportCacheSize: ReportCacheSize;
};

/** How many files of the maximal size all users together may have on disk at once. */
const NODE_FILES = 128;
/** The limit of one user: eight of the largest requests. */
const USER_FILES = 32;
/**
 * The routes that no request has needed by then are created. It takes some 20 ms, so the answers to
 * those who wait for the start come first.
 */
const CREATE_ROUTES_AFTER_MS = 250;

export type HttpApp = {
  /** Answers one request; never rejects. */
  handle: RequestHandler;
  /** The proxies that requests came through. */
  proxies: SeenProxies;
  /** Opens the listener; throws the platform's error, for instance `EADDRINUSE`. */
  listen(options: ListenOptions): Listening;
};

/**
 * Every route of the gateway behind one request pipeline.
 * @throws Error when a route declares no access
 */
export function createHttpApp(deps: HttpDeps): HttpApp {
  const { auth, accounts, status, clock, logger } = deps;
  const { maxFileBytes } = deps.config;
  const audit = createRecordAudit({ addAudit: (row) => accounts.records.addAudit(row), clock, logger });
  const once = createAnswerOnce({ keys: accounts.requestKeys, digest: accounts.digestRequest, clock });
  const { tasks, surfaces, results, relay, reports } = deps.taskRooms;
  const v1: V1Deps = {
    ...{ tasks, surfaces, results, relay },
    prices: { reports, clock, groupRatio: (group) => deps.gateway.billing.groupRatio(group) },
    maxFileBytes,
    uploads: openUploadFolder({
      folder: deps.config.uploadsFolder,
      budget: createUploadBudget({ nodeBytes: NODE_FILES * maxFileBytes, userBytes: USER_FILES * maxFileBytes }),
      logger,
    }),
    heartbeatMs: deps.config.heartbeatMs,
    watchAccess: auth.watchAccess,
    assertKeyAllows: (request) => assertKeyAllows(request),
  };
  const limits = closeForMaintenance(auth.limits, deps.operation.maintenance);
  let first: readonly AnyElysia[] = [];
  const { routes, handle, addresses } = assemblePipeline(
    {
      config: deps.config,
      auth,
      limits,
      panel: deps.panel,
      version: status.version,
      thirdParties: () => {
        const { turnstile_check: turnstile, telegram_oauth: telegram } = status.publicSettings();
        return { turnstile, telegram };
      },
      branding: () => {
        const { system_name: name, logo } = status.publicSettings();
        return { name, logo };
      },
      files: v1,
      findNativePath: createNativeRoutes({ ...v1, auth, limits }),
      ...deps.observed,
      clock,
      logger,
    },
    (kit) => {
      first = firstGroup(kit, deps);
      return first;
    },
    (kit) =>
      otherControllers(kit, { http: deps, audit, v1, limits, beginExport: createExportLimit(auth), once }, first),
  );
  return {
    handle,
    proxies: addresses,
    listen(options) {
      void clock.sleep(CREATE_ROUTES_AFTER_MS).then(() => routes.all());
      return listen(handle, options);
    },
  };
}

type RouteDeps = {
  http: HttpDeps;
  audit: RecordAudit;
  v1: V1Deps;
  limits: RequestLimits;
  beginExport: BeginExport;
  once: AnswerOnce;
};

/** Every controller that is not among `first`. */
function otherControllers(kit: Kit, deps: RouteDeps, first: readonly AnyElysia[]): AnyElysia[] {
  const { http, v1 } = deps;
  const controllers: AnyElysia[] = [accountGroup, administrationGroup, taskGroup, operationGroup].flatMap(
    (group): readonly AnyElysia[] => group(kit, deps),
  );
  controllers.push(
    ...[
      billingRoutes,
      modelRoutes,
      taskRoutes,
      callbackRoutes,
      videoRoutes,
      videoGenerationRoutes,
      responseRoutes,
      responseObjectRoutes,
      relayRoutes,
    ].map((create) => create(kit, v1)),
  );
  controllers.push(batchRoutes(kit, { ...v1, batches: http.taskRooms.batches }));
  controllers.push(mcpRoutes(kit, { ...v1, auth: http.auth, limits: deps.limits, version: http.status.version }));
  if (http.development) controllers.push(developmentRoutes(kit, http.development));
  // These come last: the OpenAPI document describes its own two routes, too.
  controllers.push(openApiRoutes(kit, () => describeApi(joined([...first, ...controllers]), http.status.version)));
  return controllers;
}

const joined = (controllers: readonly AnyElysia[]): AnyElysia =>
  controllers.reduce((whole: AnyElysia, each) => whole.use(each), new Elysia({ normalize: false }));

const accountGroup = (kit: Kit, { http, ...own }: RouteDeps) => {
  const { auth, clock, config, accounts } = http;
  const { exportUser } = accounts;
  const deps = { ...own, auth, clock, config, exportUser };
  const cookies = createSessionCookies({ secure: config.secureCookies, installation: config.installation });
  return [
    setupRoutes(kit, { ...deps, demoChannel: http.operation.demoChannel }),
    signInRoutes(kit, { auth, cookies, clock }),
    registrationRoutes(kit, deps),
    mailCodeRoutes(kit, deps),
    accountRoutes(kit, { auth, results: http.taskRooms.results }),
    accountSettingsRoutes(kit, deps),
    balanceAlertRoutes(kit, { auth, audit: deps.audit, onChosen: accounts.onBalanceAlert }),
    twoFactorRoutes(kit, deps),
    personalTokenRoutes(kit, deps),
    userSessionRoutes(kit, deps),
    passkeyRoutes(kit, { ...deps, cookies }),
    oauthRoutes(kit, { ...deps, cookies }),
    telegramRoutes(kit, { ...deps, cookies }),
    wechatRoutes(kit, { ...deps, cookies }),
    apiKeyRoutes(kit, deps),
    taskViewRoutes(kit, deps),
  ] as const;
};

const administrationGroup = (kit: Kit, { http, audit, once }: RouteDeps) => {
  const { auth, clock, gateway, taskRooms, accounts } = http;
  const deps = { auth, clock, audit, once, ...gateway };
  return [
    userRoutes(kit, deps),
    userRecordRoutes(kit, { auth, statements: accounts.statements, audit }),
    artifactLinkRoutes(kit, deps),
    oauthProviderRoutes(kit, deps),
    channelRoutes(kit, { ...deps, reports: taskRooms.reports, tasks: taskRooms.tasks }),
    channelCapacityRoutes(kit, deps),
    channelTestRoutes(kit, deps),
    channelCredentialRoutes(kit, deps),
    channelHistoryRoutes(kit, { ...gateway, ...taskRooms }),
    pluginRoutes(kit, deps),
    pluginReviewRoutes(kit, deps),
    marketplaceRoutes(kit, deps),
    priceRoutes(kit, deps),
    pluginPriceRoutes(kit, { ...deps, reports: taskRooms.reports }),
    priceQuoteRoutes(kit, { ...gateway, ...taskRooms }),
    priceReplayRoutes(kit, taskRooms),
    optionRoutes(kit, deps),
  ] as const;
};

const taskGroup = (kit: Kit, { http, ...own }: RouteDeps) => {
  const { auth, clock, config, gateway, accounts, taskRooms } = http;
  const deps = { auth, clock, channels: gateway.channels, ...own, ...taskRooms };
  return [
    panelTaskRoutes(kit, deps),
    caseRoutes(kit, deps),
    queueRoutes(kit, { ...deps, capacity: gateway.capacity }),
    playgroundRoutes(kit, { ...deps, heartbeatMs: config.heartbeatMs, watchAccess: auth.watchAccess }),
    modelCatalogRoutes(kit, { ...taskRooms, billing: gateway.billing }),
    webhookRoutes(kit, deps),
    usageLogRoutes(kit, accounts),
    auditLogRoutes(kit, accounts),
    exportRoutes(kit, { ...deps, ...accounts }),
    keyUsageRoutes(kit, { auth, ...accounts }),
    statsRoutes(kit, deps),
    usageRoutes(kit, deps),
  ] as const;
};

/** Supervisors and the panel ask for these first after a start. */
const firstGroup = (kit: Kit, deps: HttpDeps) =>
  [
    statusRoutes(kit, { ...deps.status, auth: deps.auth, startedAt: deps.clock.unix() }),
    createHealth({
      kit,
      checks: deps.operation.readiness,
      outOfService: deps.operation.outOfService,
      clock: deps.clock,
      logger: deps.logger,
    }),
  ] as const;

const operationGroup = (kit: Kit, { http, audit }: RouteDeps) =>
  [
    nameSearchRoutes(kit, { auth: http.auth, channels: http.gateway.channels }),
    systemRoutes(kit, { ...http.operation, auth: http.auth, audit }),
    createMetricsRoute({ kit, metrics: http.observed.metrics }),
  ] as const;

/**
 * The types of the routes that the panel calls, for its typed client. One type of all routes would
 * be too deep for the compiler, so each group has its own. Routes for API clients are left out.
 */
export type Routes = {
  '~Routes': RoutesOf<typeof firstGroup> &
    RoutesOf<typeof accountGroup> &
    RoutesOf<typeof administrationGroup> &
    RoutesOf<typeof taskGroup> &
    RoutesOf<typeof operationGroup>;
};

type RoutesOf<Group extends (...args: never[]) => readonly unknown[]> = Joined<ReturnType<Group>>;
type Joined<Controllers extends readonly unknown[]> = Controllers extends readonly [infer First, ...infer Others]
  ? (First extends { '~Routes': infer Own } ? Own : never) & Joined<Others>
  : unknown;
