import { type AnyElysia, type Context, redirect, status } from 'elysia';
import { isObject } from '../../kernel/index.ts';
import { type BodyLimitName, readBodyLimit } from '../bodies/body-limits.ts';
import { ACCESS_LEVELS, type AccessLevel, isPanelLevel, USER_LIMIT_SCOPES } from './access-levels.ts';
import { createPathMatcher, type MatchPath } from './find-route.ts';
import type { DeclaredRoute, RequestScope } from './types.ts';

export type RouteIndex = {
  /** Wait for this before `match`; undefined where no route that is missing could be meant. */
  load(method: string, path: string): Promise<void> | undefined;
  readonly match: MatchPath;
  /** Every route. Loads those that are missing. */
  all(): Promise<readonly DeclaredRoute[]>;
  /** Runs the handler of one of these routes; `values` are those of the path's parameters. */
  run(request: Request, scope: RequestScope, values: readonly string[]): Promise<Response>;
};

type BodySchema = {
  type?: string;
  additionalProperties?: unknown;
  properties?: Record<string, BodySchema>;
  patternProperties?: Record<string, BodySchema>;
  items?: BodySchema;
  anyOf?: BodySchema[];
  maxItems?: number;
  maxProperties?: number;
  maxLength?: number;
  const?: unknown;
};

/** True for an object that names every field it takes, and for a list of such objects. */
const isClosed = ({ additionalProperties, items }: BodySchema): boolean =>
  items ? isClosed(items) : additionalProperties === false;

/**
 * Returns the path of the first list, map or text without a maximum size. Sizes are checked before
 * content, so that a huge body is refused early.
 */
function findUnbounded(schema: BodySchema, path: string): string | undefined {
  const { type, properties = {}, patternProperties, items, anyOf = [] } = schema;
  if (type === 'string' && schema.maxLength === undefined && schema.const === undefined) return path;
  if (type === 'array' && schema.maxItems === undefined) return path;
  if (patternProperties && schema.maxProperties === undefined) return path;
  const inner: [string, BodySchema][] = [
    ...Object.entries(properties),
    ...Object.entries(patternProperties ?? {}),
    ...(items ? [['items', items] as [string, BodySchema]] : []),
    ...anyOf.map((each): [string, BodySchema] => ['', each]),
  ];
  for (const [name, each] of inner) {
    const found = findUnbounded(each, `${path}/${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Reads every route of the controllers with the access it declares. They stay apart: the framework
 * would register each route again, with all its hooks, in the application that joined them.
 *
 * `loadRest` loads the other controllers when a request is not for a fixed path of `first`: with
 * them, a start would take a third longer.
 * @throws Error naming a route that declares no access, or whose body schema would accept unknown
 * fields or lists of any length
 */
export function indexRoutes(first: readonly AnyElysia[], loadRest?: () => Promise<readonly AnyElysia[]>): RouteIndex {
  const handlers = new Map<DeclaredRoute, Handler>();
  const add = (controllers: readonly AnyElysia[]): MatchPath => {
    for (const controller of controllers)
      for (const route of controller.routes) handlers.set(readRoute(route), createHandler(route));
    return createPathMatcher([...handlers.keys()]);
  };
  let match = add(first);
  let isComplete = loadRest === undefined;
  let loading: Promise<void> | undefined;
  async function complete(load: () => Promise<readonly AnyElysia[]>): Promise<void> {
    match = add(await load());
    isComplete = true;
  }
  const loadAll = () => {
    loading ??= loadRest && complete(loadRest);
    return loading;
  };
  return {
    load(method, path) {
      if (isComplete) return undefined;
      // A fixed path wins over every other, so no route that is still missing could be meant.
      const { route } = match(method, path);
      return route && !route.pattern.includes(':') ? undefined : loadAll();
    },
    match: (method, path) => match(method, path),
    async all() {
      await loadAll();
      return [...handlers.keys()];
    },
    async run(request, scope, values) {
      const { route } = scope;
      const handle = handlers.get(route);
      if (!handle) throw new Error(`No controller has the route ${route.method} ${route.pattern}.`);
      return handle(request, scope, values);
    },
  };
}

type InternalRoute = AnyElysia['routes'][number];
type Handler = (request: Request, scope: RequestScope, values: readonly string[]) => Response | Promise<Response>;

/**
 * The framework's handler of one route: it parses, checks, runs and answers. Its own router is not
 * asked, so the path that was admitted is the one that is served. It is compiled by the first
 * request.
 */
function createHandler(route: InternalRoute): Handler {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  let handle: ReturnType<InternalRoute['compile']> | undefined;
  return (request, scope, values) => {
    handle ??= route.compile();
    const params: Record<string, string> = {};
    for (const [index, name] of names.entries()) params[name] = decode(values[index] ?? '');
    return handle(openContext(request, scope, params));
  };
}

const decode = (segment: string): string => (segment.includes('%') ? decodeURIComponent(segment) : segment);

/** What the framework's own entrance would give the handler, and `KitContext`. */
const openContext = (request: Request, scope: RequestScope, params: Record<string, string>): Context =>
  ({
    request,
    params,
    url: request.url,
    qi: request.url.indexOf('?'),
    store: {},
    redirect,
    status,
    set: { headers: Object.create(null), status: 200 },
    scope,
    requestId: scope.requestId,
    origin: scope.origin,
    log: scope.log,
    keepOpen: scope.keepOpen,
    headersOnly: scope.headersOnly,
  }) as unknown as Context;

function readRoute({ method, path, hooks }: InternalRoute): DeclaredRoute {
  const access = readAccess(hooks.detail);
  if (access === undefined) throw new Error(`The route ${method} ${path} declares no access.`);
  if (/[*?]/.test(path)) throw new Error(`The route ${method} ${path} must name its segments: no wildcards.`);
  if (hooks.body && !isClosed(hooks.body)) {
    throw new Error(`The body of ${method} ${path} would accept unknown fields.`);
  }
  const unbounded = hooks.body && findUnbounded(hooks.body, '');
  if (unbounded !== undefined) {
    throw new Error(`The body of ${method} ${path} needs maxItems, maxProperties or maxLength at "${unbounded}".`);
  }
  const scope = readDetail(hooks.detail, 'x-limit-per-user');
  const perUser = USER_LIMIT_SCOPES.find((known) => known === scope);
  if (scope !== undefined && (!perUser || !isPanelLevel(access))) {
    throw new Error(`The route ${method} ${path} counts per user, but it knows no user or the scope is unknown.`);
  }
  const modelRequest = readDetail(hooks.detail, 'x-limit-model-requests') === true;
  if (modelRequest && access !== 'apiKey' && !isPanelLevel(access)) {
    throw new Error(`The route ${method} ${path} counts model requests, but it knows no user.`);
  }
  return {
    method,
    pattern: path,
    access,
    takesBody: Boolean(hooks.body),
    bodyLimit: readDeclaredLimit(hooks.detail, `${method} ${path}`),
    critical: readDetail(hooks.detail, 'x-limit') === 'critical',
    ...(perUser ? { perUser } : {}),
    modelRequest,
  };
}

function readAccess(detail: unknown): AccessLevel | undefined {
  const value = readDetail(detail, 'x-access');
  return ACCESS_LEVELS.find((level) => level === value);
}

function readDeclaredLimit(detail: unknown, route: string): BodyLimitName {
  const declared = readDetail(detail, 'x-body-limit') ?? 'usual';
  const name = readBodyLimit(declared);
  if (!name) throw new Error(`The route ${route} declares an unknown body limit.`);
  return name;
}

const readDetail = (detail: unknown, key: string): unknown => (isObject(detail) ? detail[key] : undefined);
