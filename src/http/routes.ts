/**
 * Every route but those that supervisors and the panel ask for first. Loaded when one of them is
 * needed: code and schemas of all routes are a fifth of what a start would load.
 */
import { type AnyElysia, Elysia } from 'elysia';
import { describeApi } from './openapi/openapi-document.ts';
import { openApiRoutes } from './openapi/openapi-routes.ts';
import { createMetricsRoute } from './operator/metrics.ts';
import { developmentRoutes } from './operator/plugin-development.ts';
import { apiKeyRoutes, keyUsageRoutes } from './panel-api/accounts/api-keys.ts';
import { balanceAlertRoutes } from './panel-api/accounts/balance-alert.ts';
import {
  accountRoutes,
  accountSettingsRoutes,
  artifactLinkRoutes,
  personalTokenRoutes,
} from './panel-api/accounts/own-account.ts';
import { userRecordRoutes, userSessionRoutes } from './panel-api/accounts/user-records.ts';
import { userRoutes } from './panel-api/accounts/users.ts';
import { exportRoutes } from './panel-api/export/export-routes.ts';
import { channelCapacityRoutes } from './panel-api/gateway/channel-capacity.ts';
import { channelCredentialRoutes } from './panel-api/gateway/channel-credentials.ts';
import { channelHistoryRoutes, channelTestRoutes } from './panel-api/gateway/channel-health.ts';
import { channelRoutes } from './panel-api/gateway/channels.ts';
import { marketplaceRoutes } from './panel-api/gateway/marketplace.ts';
import { pluginReviewRoutes } from './panel-api/gateway/plugin-reviews.ts';
import { pluginRoutes } from './panel-api/gateway/plugins.ts';
import { priceQuoteRoutes, priceReplayRoutes } from './panel-api/gateway/price-trials.ts';
import { pluginPriceRoutes, priceRoutes } from './panel-api/gateway/prices.ts';
import { type AnswerOnce, createAnswerOnce } from './panel-api/idempotent-answers.ts';
import { auditLogRoutes } from './panel-api/operation/audit-log.ts';
import { caseRoutes } from './panel-api/operation/cases.ts';
import { nameSearchRoutes } from './panel-api/operation/name-search.ts';
import { optionRoutes } from './panel-api/operation/options.ts';
import { setupRoutes } from './panel-api/operation/setup.ts';
import { systemRoutes } from './panel-api/operation/system.ts';
import { statsRoutes, usageRoutes } from './panel-api/operation/usage.ts';
import { usageLogRoutes } from './panel-api/operation/usage-log.ts';
import { createRecordAudit, type RecordAudit } from './panel-api/record-audit.ts';
import { telegramRoutes, wechatRoutes } from './panel-api/sign-in/messengers.ts';
import { oauthRoutes } from './panel-api/sign-in/oauth.ts';
import { oauthProviderRoutes } from './panel-api/sign-in/oauth-providers.ts';
import { passkeyRoutes } from './panel-api/sign-in/passkeys.ts';
import { mailCodeRoutes, registrationRoutes } from './panel-api/sign-in/registration.ts';
import { createSessionCookies } from './panel-api/sign-in/session-cookies.ts';
import { signInRoutes } from './panel-api/sign-in/sign-in.ts';
import { twoFactorRoutes } from './panel-api/sign-in/two-factor.ts';
import { type BeginExport, createExportLimit } from './panel-api/stream-export.ts';
import { latestResultRoutes } from './panel-api/tasks/latest-results.ts';
import { modelCatalogRoutes } from './panel-api/tasks/model-catalog.ts';
import { playgroundRoutes } from './panel-api/tasks/playground.ts';
import { queueRoutes } from './panel-api/tasks/queue.ts';
import { taskViewRoutes } from './panel-api/tasks/task-views.ts';
import { panelTaskRoutes } from './panel-api/tasks/tasks.ts';
import { webhookRoutes } from './panel-api/tasks/webhooks.ts';
import type { Kit } from './pipeline/route-kit.ts';
import type { RequestLimits } from './pipeline/types.ts';
import type { HttpDeps } from './types.ts';
import { batchRoutes } from './v1/batch-routes.ts';
import { billingRoutes } from './v1/billing-routes.ts';
import { callbackRoutes } from './v1/callback-routes.ts';
import { fileRoutes } from './v1/file-routes.ts';
import { mcpRoutes } from './v1/mcp-routes.ts';
import { modelRoutes } from './v1/model-routes.ts';
import { relayRoutes } from './v1/relay-routes.ts';
import { responseObjectRoutes, responseRoutes } from './v1/response-routes.ts';
import type { V1Deps } from './v1/route-dependencies.ts';
import { taskRoutes } from './v1/task-routes.ts';
import { videoGenerationRoutes } from './v1/video-generation-routes.ts';
import { videoRoutes } from './v1/video-routes.ts';

type Shared = {
  http: HttpDeps;
  v1: V1Deps;
  limits: RequestLimits;
};

type RouteDeps = Shared & {
  audit: RecordAudit;
  beginExport: BeginExport;
  once: AnswerOnce;
};

/** Every controller that is not among `first`. */
export function otherControllers(kit: Kit, shared: Shared, first: readonly AnyElysia[]): AnyElysia[] {
  const { http, v1, limits } = shared;
  const { auth, accounts, clock, logger, status } = http;
  const deps: RouteDeps = {
    ...shared,
    audit: createRecordAudit({ addAudit: (row) => accounts.records.addAudit(row), clock, logger }),
    beginExport: createExportLimit(auth),
    once: createAnswerOnce({ keys: accounts.requestKeys, digest: accounts.digestRequest, clock }),
  };
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
  const batchDeps = { ...v1, batches: http.taskRooms.batches };
  controllers.push(batchRoutes(kit, batchDeps), fileRoutes(kit, batchDeps));
  controllers.push(mcpRoutes(kit, { ...v1, auth, limits, version: status.version }));
  if (http.development) controllers.push(developmentRoutes(kit, http.development));
  // These come last: the OpenAPI document describes its own two routes, too.
  controllers.push(openApiRoutes(kit, () => describeApi(joined([...first, ...controllers]), status.version)));
  return controllers;
}

const joined = (controllers: readonly AnyElysia[]): AnyElysia =>
  controllers.reduce((whole: AnyElysia, each) => whole.use(each), new Elysia({ normalize: false }));

export const accountGroup = (kit: Kit, { http, ...own }: RouteDeps) => {
  const { auth, clock, config, accounts } = http;
  const { exportUser } = accounts;
  const deps = { ...own, auth, clock, config, exportUser };
  const cookies = createSessionCookies({ secure: config.secureCookies, installation: config.installation });
  return [
    setupRoutes(kit, { ...deps, demoChannel: http.operation.demoChannel }),
    signInRoutes(kit, { auth, cookies, clock }),
    registrationRoutes(kit, deps),
    mailCodeRoutes(kit, deps),
    accountRoutes(kit, { auth, audit: deps.audit, results: http.taskRooms.results }),
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

export const administrationGroup = (kit: Kit, { http, audit, once }: RouteDeps) => {
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

export const taskGroup = (kit: Kit, { http, ...own }: RouteDeps) => {
  const { auth, clock, config, gateway, accounts, taskRooms } = http;
  const deps = { auth, clock, channels: gateway.channels, ...own, ...taskRooms };
  return [
    panelTaskRoutes(kit, deps),
    caseRoutes(kit, deps),
    queueRoutes(kit, { ...deps, capacity: gateway.capacity }),
    playgroundRoutes(kit, { ...deps, heartbeatMs: config.heartbeatMs, watchAccess: auth.watchAccess }),
    modelCatalogRoutes(kit, { ...taskRooms, billing: gateway.billing }),
    latestResultRoutes(kit, taskRooms),
    webhookRoutes(kit, deps),
    usageLogRoutes(kit, accounts),
    auditLogRoutes(kit, accounts),
    exportRoutes(kit, { ...deps, ...accounts }),
    keyUsageRoutes(kit, { auth, ...accounts }),
    statsRoutes(kit, deps),
    usageRoutes(kit, deps),
  ] as const;
};

export const operationGroup = (kit: Kit, { http, audit }: RouteDeps) =>
  [
    nameSearchRoutes(kit, { auth: http.auth, channels: http.gateway.channels }),
    systemRoutes(kit, { ...http.operation, auth: http.auth, audit }),
    createMetricsRoute({ kit, metrics: http.observed.metrics }),
  ] as const;
