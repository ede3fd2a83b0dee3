import { type AnyElysia, Elysia, ValidationError } from 'elysia';
import { AppError, type Clock, type Logger } from '../../kernel/index.ts';
import { describeValidation } from '../bodies/describe-validation.ts';
import { errorResponse, httpErrors, logFailure, toAppError } from '../errors.ts';
import { createMetricsGuard, type Metrics } from '../operator/metrics.ts';
import type { PanelManifest } from '../panel-files/panel-manifest.ts';
import { createPanelServer, type ForeignParts } from '../panel-files/serve-panel.ts';
import type { FindNative } from '../v1/native-routes.ts';
import type { Authenticators } from './authorize-request.ts';
import { createClientAddresses } from './client-ip.ts';
import { createHostGuard, type HostGuardConfig } from './guard-host.ts';
import { createRequestHandler, envelopeOf, type Peer, type RequestLimits } from './handle-request.ts';
import { createRequestScopes, type RequestScopes } from './request-scope.ts';
import { indexRoutes, type RouteIndex } from './route-index.ts';
import { createKit, type FileBudget, type Kit } from './route-kit.ts';

export type HttpConfig = {
  /** SESSION_COOKIE_SECURE */
  secureCookies: boolean;
  /** SESSION_COOKIE_TRUSTED_URL, exact origins. */
  trustedOrigins: readonly string[];
  /** TRUSTED_PROXIES as addresses and CIDRs; empty: no proxy is believed. */
  trustedProxies: readonly string[];
  /**
   * Those believed where an address decides: the same, or loopback alone while TRUSTED_PROXIES is
   * unset.
   */
  decidingProxies: readonly string[];
  /** The listener itself speaks TLS. */
  tls: boolean;
  /** METRICS_TOKEN; empty: only this machine may ask. */
  metricsToken: string;
  /** Of a listener that only this machine reaches. */
  hostGuard?: HostGuardConfig | undefined;
};

export type HttpFoundation = {
  config: HttpConfig;
  auth: Authenticators;
  limits: RequestLimits;
  panel: PanelManifest;
  /** Asked for every page: what of other sites it may use now. */
  foreignParts: () => ForeignParts;
  findNative: FindNative;
  files: FileBudget;
  metrics: Metrics;
  clock: Clock;
  logger: Logger;
};

export type RequestHandler = (request: Request, peer: Peer) => Promise<Response>;

/**
 * Puts the front door before the controllers that `build` gives.
 * @throws Error when a route declares no access
 */
export function assemble<App extends AnyElysia>(
  foundation: HttpFoundation,
  build: (kit: Kit) => App,
): { app: App; routes: RouteIndex; handle: RequestHandler; unlistedProxy: () => string | undefined } {
  const { config, logger, clock } = foundation;
  const addresses = createClientAddresses({ ...config, clock });
  const scopes = createRequestScopes();
  const app = build(createKit(scopes, foundation.files));
  const routes = indexRoutes(app);
  // Around the controllers, not among them: their types are the panel's typed client, their errors
  // are answered here.
  const guarded = new Elysia({ normalize: false })
    .onError({ as: 'global' }, ({ request, error, code }) => answerError(scopes, request, error, code))
    .use(app);
  const handle = createRequestHandler({
    app: guarded,
    scopes,
    routes,
    auth: foundation.auth,
    originGuard: { secure: config.secureCookies, trustedOrigins: config.trustedOrigins, tls: config.tls },
    addresses,
    guardMetrics: createMetricsGuard(config.metricsToken),
    guardHost: config.hostGuard ? createHostGuard(config.hostGuard, logger) : () => {},
    limits: foundation.limits,
    maxFileBytes: foundation.files.maxFileBytes,
    servePanel: createPanelServer(foundation.panel, foundation.foreignParts),
    findNative: foundation.findNative,
    observe: foundation.metrics.observe,
    clock,
    logger,
  });
  return { app, routes, handle, unlistedProxy: addresses.unlistedProxy };
}

function answerError(scopes: RequestScopes, request: Request, thrown: unknown, code: string | number): Response {
  const { log, requestId } = scopes.of(request);
  const error = fromFramework(thrown, code);
  logFailure(log, error);
  return errorResponse(error, envelopeOf(new URL(request.url).pathname), requestId);
}

function fromFramework(thrown: unknown, code: string | number): AppError {
  if (thrown instanceof ValidationError) return describeValidation(thrown);
  if (code === 'NOT_FOUND') return httpErrors.not_found();
  // What a body parser throws arrives wrapped.
  if (code === 'PARSE' && thrown instanceof Error) {
    return thrown.cause instanceof AppError ? thrown.cause : httpErrors.bad_body({ cause: thrown });
  }
  return toAppError(thrown);
}
