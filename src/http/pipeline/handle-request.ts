/**
 * One request, from the listener to its response:
 *
 * 1. Route: `find-route.ts` finds the gateway's own route or a plugin's.
 * 2. Access: `admit-request.ts` applies size, limits and credentials.
 * 3. Body: the kit (panel routes) or the controller (`/v1`, plugins) reads it under its limit.
 * 4. Answer: the controller's response, or the failure in the envelope of its path, with the
 *    headers of every response, a metric and a log line.
 */
import { type AppError, type Clock, type Logger, newUuid, type ReportCacheSize, sentence } from '../../kernel/index.ts';
import { errorResponse, httpErrors, logFailure, toAppError, toStatus } from '../responses/errors.ts';
import { setResponseHeaders } from '../responses/response-headers.ts';
import { isOpenToOtherSites } from './access-levels.ts';
import { type AdmissionDeps, admitRequest, runCounted } from './admit-request.ts';
import type { ClientAddresses } from './client-ip.ts';
import { answerOtherMethod, isPanelRequest, type RouteResolution, resolveRoute, UNRESOLVED } from './find-route.ts';
import { logRequest } from './request-log.ts';
import {
  chooseEnvelope,
  createPathReader,
  hasFragment,
  isBelow,
  isDecodable,
  MAX_ADDRESS_CHARS,
} from './request-path.ts';
import type { RouteIndex } from './route-index.ts';
import type { ResultsSeparation } from './separate-results.ts';
import type {
  Answered,
  DeclaredRoute,
  FindNativePath,
  InRequest,
  NativePathHandler,
  Peer,
  RequestHandler,
  RequestScope,
} from './types.ts';

export type RequestPipeline = {
  admission: AdmissionDeps;
  routes: RouteIndex;
  addresses: ClientAddresses;
  /** Throws when the `Host` header is not a name under which the panel is known. */
  guardHost: (request: Request) => void;
  /** Keeps content apart from the panel's origin. */
  results: ResultsSeparation;
  servePanel: (request: Request, path: string) => Promise<Response> | Response | undefined;
  /** Looks up plugins' paths, for those that the gateway does not serve. */
  findNativePath: FindNativePath;
  observer: RequestObserver;
  clock: Clock;
  logger: Logger;
  reportCacheSize?: ReportCacheSize | undefined;
};

type RequestObserver = {
  /** Called when a request begins. */
  began: () => void;
  run: InRequest;
  answered: (answer: Answered) => void;
};

/** A caller's request id is kept only if it is harmless in a log line and a header. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
/** Every path of ours may end in a slash. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(
  ['/livez', '/readyz', '/metrics'].flatMap((path) => [path, `${path}/`]),
);
/** Stands in the scope of a request that no route serves. */
const NO_ROUTE: DeclaredRoute = {
  method: '',
  pattern: '',
  access: 'public',
  takesBody: false,
  bodyLimit: 'usual',
  critical: false,
  modelRequest: false,
};

/**
 * The only entry for requests. Every response leaves with its request id, the security headers and
 * a log line; a failure becomes a response. Never rejects.
 */
export function createRequestHandler(pipeline: RequestPipeline): RequestHandler {
  const readPath = createPathReader(pipeline.reportCacheSize);

  return (request, peer) => {
    pipeline.observer.began();
    const requestId = readRequestId(request.headers) ?? newUuid();
    const started = pipeline.clock.monotonicMs();
    return pipeline.observer.run(requestId, async () => {
      try {
        const named = withHealthHost(request);
        return await answer(named, peer, openScope(pipeline, named, { peer, requestId }));
      } catch (thrown) {
        return answerFault(pipeline, thrown, { request, requestId, started });
      }
    });
  };

  async function answer(request: Request, peer: Peer, scope: RequestScope): Promise<Response> {
    const started = pipeline.clock.monotonicMs();
    // A broken `Host` leaves no address. Such a request is refused below, after it has an id.
    // One that is too long is refused below; its beginning says in which envelope.
    const readable = readPath(request.url.slice(0, MAX_ADDRESS_CHARS));
    const path = readable ?? '';
    let resolution = UNRESOLVED;

    let response: Response;
    let onResults = false;
    try {
      onResults = pipeline.results.isOnResults(request, peer);
      if (onResults) pipeline.results.guard(request, path);
      const missing = pipeline.routes.load(request.method, path);
      if (missing) await missing;
      resolution = resolveRoute(pipeline, { request, path: readable });
      if (resolution.route) scope.route = resolution.route;
      if (request.url.length > MAX_ADDRESS_CHARS) throw httpErrors.address_too_long();
      if (readable === undefined) throw httpErrors.bad_address();
      if (!isDecodable(path)) throw httpErrors.bad_address({ message: sentence('http.percent') });
      if (isPanelRequest(resolution, path)) pipeline.guardHost(request);
      if (isBelow(path, '/api')) await pipeline.admission.limits.api(scope.origin.decidingIp);
      const moved = onResults ? undefined : pipeline.results.redirect(request, scope.route);
      if (moved) {
        response = moved;
      } else if (resolution.route) {
        await admitRequest(pipeline.admission, { request, scope, peer });
        const { native, values = [] } = resolution;
        response = await runCounted(pipeline.admission.limits, scope, () =>
          native?.route ? runNativeRoute(native, request, scope) : runOwnRoute(pipeline, { request, scope, values }),
        );
      } else if (resolution.methods.length > 0) {
        response = answerOtherMethod(request, resolution);
      } else if (resolution.native) {
        throw httpErrors.not_found();
      } else {
        response = await servePanelOr404(pipeline, request, path);
      }
    } catch (thrown) {
      const error = toAppError(thrown);
      logFailure(scope.log, error);
      response = resolution.native
        ? await resolution.native.presentError(error, request, scope)
        : failureResponse(error, { path, requestId: scope.requestId });
      if (error.kind === 'method_not_allowed') response.headers.set('allow', resolution.methods.join(', '));
    } finally {
      resolution.native?.release();
      if (scope.body) await scope.body.release();
    }

    if (onResults) response.headers.delete('set-cookie');
    else if (response.ok) pipeline.results.forbidDisplay(response, scope.route);
    finishResponse(pipeline, response, { path, scope, resolution });
    const { status } = response;
    const milliseconds = pipeline.clock.monotonicMs() - started;
    pipeline.observer.answered({
      method: request.method,
      route: resolution.route?.pattern ?? 'none',
      status,
      seconds: milliseconds / 1000,
      requestId: scope.requestId,
    });
    logRequest(pipeline.logger, { request, path, scope, resolution, status, milliseconds });
    return response;
  }
}

/**
 * Answers a fault that `answer` has no response to: before it knows the request, or after it has
 * answered. It is recorded as every other failure.
 */
function answerFault(
  { logger, clock, observer, admission }: RequestPipeline,
  thrown: unknown,
  { request, requestId, started }: { request: Request; requestId: string; started: number },
): Response {
  const error = toAppError(thrown);
  logFailure(logger.child({ request_id: requestId }), error);
  const path = URL.canParse(request.url) ? new URL(request.url).pathname : '';
  const response = errorResponse(error, chooseEnvelope(path), requestId);
  const { tls } = admission.originGuard;
  setResponseHeaders(response.headers, { requestId, openToOtherSites: false, noStore: true, tls });
  const seconds = (clock.monotonicMs() - started) / 1000;
  observer.answered({ method: request.method, route: 'none', status: response.status, seconds, requestId });
  return response;
}

/**
 * HTTP/1.0 needs no `Host`, and checks of load balancers send none. Such a request has a path for
 * an address; where anybody may ask about health it gets a name, and elsewhere it is refused.
 */
function withHealthHost(request: Request): Request {
  const [path = ''] = request.url.split('?', 1);
  return HEALTH_PATHS.has(path) ? new Request(`http://localhost${request.url}`, request) : request;
}

function openScope(
  pipeline: RequestPipeline,
  request: Request,
  { peer, requestId }: { peer: Peer; requestId: string },
): RequestScope {
  return {
    requestId,
    origin: {
      ...pipeline.addresses.read(peer.address, request.headers.get('x-forwarded-for')),
      userAgent: request.headers.get('user-agent') ?? '',
    },
    log: pipeline.logger.child({ request_id: requestId }),
    keepOpen: peer.keepOpen,
    route: NO_ROUTE,
    headersOnly: request.method === 'HEAD',
  };
}

function readRequestId(headers: Headers): string | undefined {
  const given = headers.get('x-request-id');
  return given !== null && REQUEST_ID.test(given) ? given : undefined;
}

async function runOwnRoute(
  { routes }: RequestPipeline,
  { request, scope, values }: { request: Request; scope: RequestScope; values: readonly string[] },
): Promise<Response> {
  // A proxy in front may have read a different path.
  if (hasFragment(request.url)) throw httpErrors.not_found();
  if (!scope.headersOnly) return routes.run(request, scope, values);
  // HEAD runs the handler of GET, and has the length of its body.
  const get = new Request(request.url, { method: 'GET', headers: request.headers, signal: request.signal });
  return withoutBody(await routes.run(get, scope, values));
}

async function runNativeRoute(
  native: Extract<NativePathHandler, { route: DeclaredRoute }>,
  request: Request,
  scope: RequestScope,
): Promise<Response> {
  const response = await native.answer(request, scope);
  return scope.headersOnly ? withoutBody(response) : response;
}

async function servePanelOr404(pipeline: RequestPipeline, request: Request, path: string): Promise<Response> {
  const isPanelPath = !isBelow(path, '/api') && !isBelow(path, '/v1');
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const page = isPanelPath && reads ? await pipeline.servePanel(request, path) : undefined;
  if (!page) throw httpErrors.not_found();
  return page;
}

function failureResponse(error: AppError, { path, requestId }: { path: string; requestId: string }): Response {
  // People see this one in a browser that expected a page of the panel, so it is plain text.
  if (error.code === 'http.host_forbidden' && !isBelow(path, '/api')) {
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return new Response(`${error.message}\n`, { status: toStatus(error), headers });
  }
  return errorResponse(error, chooseEnvelope(path), requestId);
}

function finishResponse(
  { admission }: RequestPipeline,
  response: Response,
  { path, scope, resolution }: { path: string; scope: RequestScope; resolution: RouteResolution },
): void {
  const { route, native } = resolution;
  const openToOtherSites = native !== undefined || (route ? isOpenToOtherSites(route.access) : isBelow(path, '/v1'));
  setResponseHeaders(response.headers, {
    requestId: scope.requestId,
    openToOtherSites,
    noStore: openToOtherSites || isBelow(path, '/api'),
    tls: admission.originGuard.tls,
    rateLimit: scope.rateLimit,
  });
}

/**
 * Keeps the length that GET would send: without it the listener would send 0. Streams and files are
 * not read for it: they may be of any size.
 */
async function withoutBody(response: Response): Promise<Response> {
  const { headers, status } = response;
  const isLong =
    headers.get('content-type')?.startsWith('text/event-stream') ||
    headers.get('content-disposition')?.startsWith('attachment');
  if (response.body === null || headers.has('content-length') || isLong) await response.body?.cancel();
  else headers.set('content-length', String((await response.arrayBuffer()).byteLength));
  return new Response(null, { status, headers });
}
