import type { AnyElysia } from 'elysia';
import { isObject } from '../../kernel/index.ts';
import { type BodyLimitName, readBodyLimit } from '../bodies/body-limits.ts';
import { ACCESS_LEVELS, type AccessLevel, isPanelLevel, USER_LIMIT_SCOPES } from './access-levels.ts';
import { createPathMatcher, type MatchPath } from './match-path.ts';
import type { DeclaredRoute } from './types.ts';

export type RouteIndex = {
  readonly match: MatchPath;
  /** Every route. Creates those that do not exist yet. */
  all(): readonly DeclaredRoute[];
  /** Runs the handler of one of these routes. */
  run(route: DeclaredRoute, request: Request): Promise<Response>;
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
 * `createRest` creates the other controllers when a request is not for a fixed path of `first`:
 * with them, a start would take a fifth longer.
 * @throws Error naming a route that declares no access, or whose body schema would accept unknown
 * fields or lists of any length
 */
export function indexRoutes(
  first: readonly AnyElysia[],
  createRest: () => readonly AnyElysia[] = () => [],
): RouteIndex {
  const controllerOf = new Map<DeclaredRoute, AnyElysia>();
  const add = (controllers: readonly AnyElysia[]): MatchPath => {
    for (const controller of controllers)
      for (const route of controller.routes) controllerOf.set(readRoute(route), controller);
    return createPathMatcher([...controllerOf.keys()]);
  };
  const matchFirst = add(first);
  let matchAll: MatchPath | undefined;
  const complete = (): MatchPath => {
    matchAll ??= add(createRest());
    return matchAll;
  };
  return {
    match(method, path) {
      if (matchAll) return matchAll(method, path);
      // A fixed path wins over every other, so no route that is still missing could be meant.
      const found = matchFirst(method, path);
      return found.route && !found.route.pattern.includes(':') ? found : complete()(method, path);
    },
    all() {
      complete();
      return [...controllerOf.keys()];
    },
    run(route, request) {
      const controller = controllerOf.get(route);
      if (!controller) throw new Error(`No controller has the route ${route.method} ${route.pattern}.`);
      return Promise.resolve(controller.fetch(request));
    },
  };
}

function readRoute({ method, path, hooks }: AnyElysia['routes'][number]): DeclaredRoute {
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
