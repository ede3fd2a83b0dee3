import type { AnyElysia } from 'elysia';
import { assertKeyAllows } from '../auth/index.ts';
import { assemblePipeline } from './assemble-pipeline.ts';
import { createUploadBudget, openUploadFolder } from './bodies/upload-folder.ts';
import { createHealth } from './operator/health.ts';
import { statusRoutes } from './panel-api/operation/status.ts';
import type { SeenProxies } from './pipeline/client-ip.ts';
import { closeForMaintenance } from './pipeline/close-for-maintenance.ts';
import { type Listening, type ListenOptions, listen } from './pipeline/listen.ts';
import type { Kit } from './pipeline/route-kit.ts';
import type { RequestHandler } from './pipeline/types.ts';
import type { accountGroup, administrationGroup, operationGroup, taskGroup } from './routes.ts';
import type { HttpDeps } from './types.ts';
import { createNativeRoutes } from './v1/native-routes.ts';
import type { V1Deps } from './v1/route-dependencies.ts';

/** How many files of the maximal size all users together may have on disk at once. */
const NODE_FILES = 128;
/** The limit of one user: eight of the largest requests. */
const USER_FILES = 32;
/**
 * The routes that no request has needed by then are loaded. It takes some 50 ms, so the answers to
 * those who wait for the start come first.
 */
const LOAD_ROUTES_AFTER_MS = 250;

export type HttpApp = {
  /** Answers one request; never rejects. */
  handle: RequestHandler;
  /** The proxies that requests came through. */
  proxies: SeenProxies;
  /** Opens the listener; throws the platform's error, for instance `EADDRINUSE`. */
  listen(options: ListenOptions): Listening;
};

/**
 * Every route of the gateway behind one request pipeline. Most are loaded when a request first
 * needs one of them.
 * @throws Error when a route declares no access
 */
export function createHttpApp(deps: HttpDeps): HttpApp {
  const { auth, status, clock, logger } = deps;
  const { maxFileBytes } = deps.config;
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
      panel: {
        manifest: deps.panel,
        version: status.version,
        thirdParties() {
          const { turnstile_check: turnstile, telegram_oauth: telegram } = status.publicSettings();
          return { turnstile, telegram };
        },
        branding() {
          const { system_name: name, logo } = status.publicSettings();
          return { name, logo };
        },
      },
      files: v1,
      findNativePath: createNativeRoutes({ ...v1, auth, limits }),
      observed: deps.observed,
      clock,
      logger,
    },
    (kit) => {
      first = firstGroup(kit, deps);
      return first;
    },
    async (kit) => {
      const { otherControllers } = await import('./routes.ts');
      return otherControllers(kit, { http: deps, v1, limits }, first);
    },
  );
  return {
    handle,
    proxies: addresses,
    listen(options) {
      void clock.sleep(LOAD_ROUTES_AFTER_MS).then(() => routes.all());
      return listen(handle, options);
    },
  };
}

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
