import { type AnyElysia, ValidationError } from 'elysia';
import { AppError, type Clock, type Logger, type ReportCacheSize } from '../kernel/index.ts';
import { describeValidation } from './bodies/validation-errors.ts';
import { createMetricsGuard, type Metrics } from './operator/metrics.ts';
import type { PanelManifest } from './panel-files/panel-manifest.ts';
import { type Branding, createPanelServer } from './panel-files/serve-panel.ts';
import { createClientAddresses, type SeenProxies } from './pipeline/client-ip.ts';
import { createHostGuard, type HostGuardConfig } from './pipeline/guard-host.ts';
import { createRequestHandler } from './pipeline/handle-request.ts';
import { chooseEnvelope } from './pipeline/request-path.ts';
import { indexRoutes, type RouteIndex } from './pipeline/route-index.ts';
import { createKit, type FileStorageConfig, type Kit } from './pipeline/route-kit.ts';
import { createResultsSeparation, type ResultsOrigin } from './pipeline/separate-results.ts';
import type {
  Answered,
  Authenticators,
  FindNativePath,
  InRequest,
  RequestHandler,
  RequestLimits,
  RequestScope,
  RequestTracer,
} from './pipeline/types.ts';
import type { ThirdParties } from './responses/content-security-policies.ts';
import { errorResponse, httpErrors, logFailure, toAppError } from './responses/errors.ts';

export type HttpConfig = {
  /** SESSION_COOKIE_SECURE */
  secureCookies: boolean;
  /** SESSION_COOKIE_TRUSTED_URL, exact origins. */
  trustedOrigins: readonly string[];
  /** TRUSTED_PROXIES as addresses and CIDRs; empty: no proxy is trusted. */
  trustedProxies: readonly string[];
  /**
   * Proxies trusted for the address that limits and allow lists use: the same as `trustedProxies`,
   * or only loopback while TRUSTED_PROXIES is unset.
   */
  decidingProxies: readonly string[];
  /** The listener itself speaks TLS. */
  tls: boolean;
  /** METRICS_TOKEN; empty: only programs on this machine may read the metrics. */
  metricsToken: string;
  /** RESULTS_ORIGIN; absent: results come from the panel's origin. */
  results?: ResultsOrigin | undefined;
  /** Set for a listener that only this machine can reach. */
  hostGuard?: HostGuardConfig | undefined;
};

export type HttpFoundation = {
  config: HttpConfig;
  auth: Authenticators;
  limits: RequestLimits;
  panel: {
    manifest: PanelManifest;
    version: string;
    /** Read for every page: the third parties whose scripts it may load at the moment. */
    thirdParties: () => ThirdParties;
    branding: () => Branding;
  };
  findNativePath: FindNativePath;
  files: FileStorageConfig;
  observed: Observed;
  clock: Clock;
  logger: Logger;
};

/** What measures and traces requests. */
export type Observed = {
  metrics: Metrics;
  tracer?: RequestTracer | undefined;
  inRequest?: InRequest | undefined;
  /** Called when a request begins. */
  onRequest: () => void;
  reportCacheSize?: ReportCacheSize;
};

/**
 * Puts the request pipeline in front of the controllers that `build` returns, and of those that
 * `loadRest` loads when they are first needed. `handle` answers one request: `handle-request.ts`
 * has the steps.
 * @throws Error when a route declares no access
 */
export function assemblePipeline(
  foundation: HttpFoundation,
  build: (kit: Kit) => readonly AnyElysia[],
  loadRest?: (kit: Kit) => Promise<readonly AnyElysia[]>,
): { routes: RouteIndex; handle: RequestHandler; addresses: SeenProxies } {
  const { config, limits, logger, clock } = foundation;
  const { metrics, tracer, reportCacheSize } = foundation.observed;
  const { results = { origin: '', ownListener: false } } = config;
  const addresses = createClientAddresses({ ...config, clock, ...(reportCacheSize ? { reportCacheSize } : {}) });
  const kit = createKit(foundation.files);
  // It is not part of the kit's own chain, so that the controllers keep the type that the panel's
  // client uses.
  kit.onError({ as: 'global' }, ({ scope, request, error, code }) =>
    answerError(scope, request, fromFramework(error, code)),
  );
  const routes = indexRoutes(build(kit), loadRest && (() => loadRest(kit)));
  const { manifest, ...shown } = foundation.panel;
  const handle = createRequestHandler({
    admission: {
      auth: foundation.auth,
      originGuard: { secure: config.secureCookies, trustedOrigins: config.trustedOrigins, tls: config.tls },
      guardMetrics: createMetricsGuard(config.metricsToken),
      limits,
      maxFileBytes: foundation.files.maxFileBytes,
    },
    routes,
    addresses,
    guardHost: config.hostGuard ? createHostGuard(config.hostGuard, logger, reportCacheSize) : () => {},
    results: createResultsSeparation(results),
    servePanel: createPanelServer(manifest, { ...shown, resultsOrigin: results.origin }),
    findNativePath: foundation.findNativePath,
    observer: {
      began: foundation.observed.onRequest,
      run: foundation.observed.inRequest ?? ((_, work) => work()),
      answered: tracer ? (answer) => observeBoth(tracer, metrics, answer) : metrics.observe,
    },
    clock,
    logger,
    reportCacheSize,
  });
  const traced: RequestHandler = tracer ? (request, peer) => tracer.run(request, () => handle(request, peer)) : handle;
  return { routes, handle: traced, addresses };
}

function observeBoth(tracer: RequestTracer, metrics: Metrics, answer: Answered): void {
  metrics.observe(answer);
  tracer.answered(answer);
}

function answerError({ log, requestId }: RequestScope, request: Request, error: AppError): Response {
  logFailure(log, error);
  return errorResponse(error, chooseEnvelope(new URL(request.url).pathname), requestId);
}

/** What a controller or the framework threw, as one of the gateway's own errors. */
function fromFramework(thrown: unknown, code: string | number): AppError {
  if (thrown instanceof ValidationError) return describeValidation(thrown);
  if (code === 'NOT_FOUND') return httpErrors.not_found();
  // The framework wraps what a body parser throws.
  if (code === 'PARSE' && thrown instanceof Error) {
    return thrown.cause instanceof AppError ? thrown.cause : httpErrors.bad_body({ cause: thrown });
  }
  return toAppError(thrown);
}
