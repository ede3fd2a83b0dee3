import type { AnyElysia } from 'elysia';
import type { ApiPrincipal, DecidingIp } from '../../auth/index.ts';
import { type AppError, type Clock, type Logger, newUuid } from '../../kernel/index.ts';
import { assertDeclaredSize } from '../bodies/body-limits.ts';
import { errorResponse, httpErrors, logFailure, statusOf, toAppError } from '../errors.ts';
import type { FindNative, NativeService } from '../v1/native-routes.ts';
import { isOpenToOtherSites, type UserLimitScope } from './access-levels.ts';
import type { Authenticators } from './authorize-request.ts';
import { authorizeRequest } from './authorize-request.ts';
import type { ClientAddresses } from './client-ip.ts';
import type { OriginGuardConfig } from './guard-origin.ts';
import type { RequestScope, RequestScopes } from './request-scope.ts';
import { preflightResponse, putHeaders, REPLAYED } from './response-headers.ts';
import type { DeclaredRoute, RouteIndex } from './route-index.ts';

/**
 * What the listener knows of a connection. `keepOpen` takes off its limit of idle time and gives a
 * function that puts it back.
 */
export type Peer = { address: string; keepOpen: () => () => void };

export type RequestPipeline = {
  app: AnyElysia;
  scopes: RequestScopes;
  routes: RouteIndex;
  auth: Authenticators;
  originGuard: OriginGuardConfig;
  addresses: ClientAddresses;
  guardMetrics: (request: Request, peer: string) => void;
  /** Throws where the panel is not known by the name under which it is asked for. */
  guardHost: (request: Request) => void;
  limits: RequestLimits;
  maxFileBytes: number;
  servePanel: (request: Request, path: string) => Response | undefined;
  /** The routes of plugins, for paths that no route of the gateway has. */
  findNative: FindNative;
  observe: (answer: { method: string; route: string; status: number; seconds: number }) => void;
  clock: Clock;
  logger: Logger;
};

/** Each counts one request and throws when there were too many. */
export type RequestLimits = {
  /** All of `/api`, per address. */
  api(ip: DecidingIp): Promise<void>;
  /** All routes that say `critical` together, per address. */
  critical(ip: DecidingIp): Promise<void>;
  /** All routes of one scope together, per user. */
  user(userId: number, scope: UserLimitScope): Promise<void>;
  /**
   * All routes that say `modelRequest` together, per user; gives what is to be called after an
   * answer below 400.
   */
  modelRequests(userId: number, group: string): Promise<() => Promise<void>>;
};

/** A caller's own request id is taken over only if it can do no harm in a log or a header. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
const NOWHERE: DeclaredRoute = {
  method: '',
  pattern: '',
  access: 'public',
  takesBody: false,
  bodyLimit: 'usual',
  critical: false,
  modelRequest: false,
};

/**
 * Where a request leads. `native`: to a plugin's own route. `isOpen`: pages of other sites may call
 * the path by another of its `methods`.
 */
type RouteResolution = {
  native?: NativeService;
  route?: DeclaredRoute | undefined;
  methods: readonly string[];
  isPlugins: boolean;
  isOpen: boolean;
};

/**
 * The one way in. Finds the route, decides who may pass, hands over to the controllers, and gives
 * every answer its request id, its security headers and its log line. Never rejects.
 */
export function createRequestHandler(door: RequestPipeline): (request: Request, peer: Peer) => Promise<Response> {
  return async (request, peer) => {
    const started = door.clock.monotonicMs();
    // A broken `Host` leaves no address; it is refused below, like every other request with its id
    // and a log line.
    const address = URL.canParse(request.url) ? new URL(request.url) : undefined;
    const path = address?.pathname ?? '';
    const requestId = readRequestId(request.headers) ?? newUuid();
    const log = door.logger.child({ request_id: requestId });
    let scope: RequestScope = {
      requestId,
      origin: {
        ...door.addresses.read(peer.address, request.headers.get('x-forwarded-for')),
        userAgent: request.headers.get('user-agent') ?? '',
      },
      log,
      keepOpen: peer.keepOpen,
      route: NOWHERE,
      headersOnly: request.method === 'HEAD',
    };
    let way: RouteResolution = { methods: [], isPlugins: false, isOpen: false };

    let response: Response;
    try {
      way = resolveRoute(request, address, path);
      const { native, route, methods } = way;
      scope = { ...scope, route: route ?? NOWHERE };
      const run = (asked: Request) => (native ? runNative(native, asked, scope) : runKnown(asked, scope));
      if (!address) throw httpErrors.bad_address();
      if (!isDecodable(path)) throw httpErrors.bad_address({ message: 'The address has a broken percent escape.' });
      if (isOfPanel(way, path)) door.guardHost(request);
      if (isBelow(path, '/api')) await door.limits.api(scope.origin.decidingIp);
      if (route) response = await enter(withLongHost(request, address), route, scope, peer, run);
      else if (methods.length > 0) response = answerOtherMethod(request, methods, way.isOpen);
      else response = servePanelOr404(request, path);
    } catch (thrown) {
      const error = toAppError(thrown);
      logFailure(log, error);
      response = way.native
        ? await way.native.presentError(error, request, scope)
        : refuse(error, { path, requestId, methods: way.methods });
    } finally {
      way.native?.release();
      await scope.body?.release();
    }
    const { native, route } = way;
    putHeaders(response.headers, {
      requestId,
      openToOtherSites: way.isPlugins || (route ? isOpenToOtherSites(route.access) : isBelow(path, '/v1')),
      noStore: isBelow(path, '/api'),
      tls: door.originGuard.tls,
    });

    const milliseconds = door.clock.monotonicMs() - started;
    door.observe({
      method: request.method,
      route: route?.pattern ?? 'none',
      status: response.status,
      seconds: milliseconds / 1000,
    });
    // The path alone: queries carry capabilities and one-time codes.
    log.info(
      {
        method: request.method,
        // Of a plugin's route the pattern: tasks of clients stand in the path, and what else a
        // vendor's clients put there.
        path: native ? native.route.pattern : hideTokens(path, route),
        status: response.status,
        ms: Math.round(milliseconds * 10) / 10,
        ip: scope.origin.ip,
        user_id: scope.panel?.user.id ?? scope.api?.user.id,
      },
      'request',
    );
    return response;
  };

  function resolveRoute(request: Request, address: URL | undefined, path: string): RouteResolution {
    const known = findRoute(door.routes, request.method, path);
    const native = address && known.methods.length === 0 ? door.findNative(request, path) : undefined;
    if (!native) return { ...known, isPlugins: false };
    const served = native.route ? { native, route: native.route } : {};
    return { ...served, methods: native.methods, isPlugins: true, isOpen: true };
  }

  async function enter(
    request: Request,
    route: DeclaredRoute,
    scope: RequestScope,
    peer: Peer,
    run: (request: Request) => Promise<Response>,
  ): Promise<Response> {
    assertDeclaredSize(request, route.bodyLimit, door.maxFileBytes);
    if (route.critical) await door.limits.critical(scope.origin.decidingIp);
    const guardMetrics = (asked: Request) => door.guardMetrics(asked, peer.address);
    await authorizeRequest(
      { auth: door.auth, originGuard: door.originGuard, guardMetrics },
      route.access,
      request,
      scope,
    );
    if (route.perUser && scope.panel) await door.limits.user(scope.panel.user.id, route.perUser);
    const payer = scope.api ?? (scope.panel && { user: scope.panel.user, group: scope.panel.user.group });
    if (route.modelRequest && payer) return countModelRequest(payer, () => run(request));
    return run(request);
  }

  async function countModelRequest(
    payer: Pick<ApiPrincipal, 'user' | 'group'>,
    answer: () => Promise<Response>,
  ): Promise<Response> {
    const recordSuccess = await door.limits.modelRequests(payer.user.id, payer.group);
    const response = await answer();
    // A replay is the answer to a request that has been counted.
    if (response.status < 400 && !response.headers.has(REPLAYED)) await recordSuccess();
    return response;
  }

  async function runKnown(request: Request, scope: RequestScope): Promise<Response> {
    if (request.method !== 'HEAD') {
      door.scopes.put(request, scope);
      return door.app.fetch(request);
    }
    // HEAD runs the handler of GET: the framework's own HEAD would give the length of an empty body
    // for that of the resource.
    const get = new Request(request.url, { method: 'GET', headers: request.headers, signal: request.signal });
    door.scopes.put(get, scope);
    return withoutBody(await door.app.fetch(get));
  }

  function servePanelOr404(request: Request, path: string): Response {
    const page =
      isBelow(path, '/api') || isBelow(path, '/v1') || (request.method !== 'GET' && request.method !== 'HEAD')
        ? undefined
        : door.servePanel(request, path);
    if (!page) throw httpErrors.not_found();
    return page;
  }
}

async function runNative(native: NativeService, request: Request, scope: RequestScope): Promise<Response> {
  const response = await native.answer(request, scope);
  return scope.headersOnly ? withoutBody(response) : response;
}

/** The panel's pages and what they call, and not what is for API clients and operators. */
function isOfPanel({ route, methods, isPlugins, isOpen }: RouteResolution, path: string): boolean {
  if (isPlugins || isOpen || (route && isOpenToOtherSites(route.access))) return false;
  return isBelow(path, '/api') || (methods.length === 0 && !isBelow(path, '/v1'));
}

function refuse(
  error: AppError,
  { path, requestId, methods }: { path: string; requestId: string; methods: readonly string[] },
): Response {
  // Somebody reads it in a browser that shows the panel's pages or nothing.
  if (error.code === 'http.host_forbidden' && !isBelow(path, '/api')) {
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return new Response(`${error.message}\n`, { status: statusOf(error), headers });
  }
  const response = errorResponse(error, envelopeOf(path), requestId);
  if (error.kind === 'method_not_allowed') response.headers.set('allow', methods.join(', '));
  return response;
}

/** A path for the log: of a segment that is a token by its name, the name alone. */
function hideTokens(path: string, route: DeclaredRoute | undefined): string {
  if (!route?.pattern.includes('token')) return path;
  const names = route.pattern.split('/');
  return path
    .split('/')
    .map((part, i) => (/^:\w*token$/.test(names[i] ?? '') ? names[i] : part))
    .join('/');
}

/**
 * The panel's own and the operator's addresses answer in the panel's envelope, everything that
 * vendors' clients call in OpenAI's.
 */
export const envelopeOf = (path: string) =>
  isBelow(path, '/api') || path === '/livez' || path === '/readyz' || path === '/metrics' ? 'panel' : 'openai';

/** `methods`: what the path takes, HEAD wherever GET is. */
function findRoute(routes: RouteIndex, method: string, path: string) {
  const match = routes.match(method, path);
  const get = match.methods.includes('GET');
  const route = match.route ?? (method === 'HEAD' && get ? routes.match('GET', path).route : undefined);
  const methods = [...new Set(get ? ['GET', 'HEAD', ...match.methods] : match.methods)];
  const isOpen = (known: string) => isOpenToOtherSites(routes.match(known, path).route?.access ?? 'public');
  return { route, methods, isOpen: !route && match.methods.some(isOpen) };
}

/**
 * OPTIONS is answered for API-key routes; any other method that the path does not take is refused.
 */
function answerOtherMethod(request: Request, methods: readonly string[], open: boolean): Response {
  if (request.method !== 'OPTIONS' || !open) throw httpErrors.method_not_allowed();
  const response = preflightResponse(request, methods);
  response.headers.set('access-control-allow-origin', '*');
  return response;
}

/**
 * The framework looks for a path from the twelfth character of an address on: behind a host of
 * three letters or fewer (`http://tg/`) it would read another path than the one that is let in. No
 * controller reads the host from the address.
 */
const withLongHost = (request: Request, { host, pathname, search }: URL): Request =>
  host.length > 3 ? request : new Request(`http://gateway.local${pathname}${search}`, request);

function readRequestId(headers: Headers): string | undefined {
  const given = headers.get('x-request-id');
  return given !== null && REQUEST_ID.test(given) ? given : undefined;
}

/** Keeps the length that GET would announce: without it the listener says 0. */
async function withoutBody(response: Response): Promise<Response> {
  const { headers, status } = response;
  const endless = headers.get('content-type')?.startsWith('text/event-stream');
  if (response.body === null || headers.has('content-length') || endless) await response.body?.cancel();
  else headers.set('content-length', String((await response.arrayBuffer()).byteLength));
  return new Response(null, { status, headers });
}

const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

/** The controllers' parameters are decoded: `%FF` alone or a cut `%E0%A4` stands for no text. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
