/**
 * Path patterns of native routes. Segments are literals, `:name`, and a final `*name`. A trailing
 * slash is an empty last segment: a request's path must have it where its route has it.
 */

const splitPath = (path: string): string[] => path.slice(1).split('/');

/**
 * The segments without the names of parameters: those of `/v/:id/*rest` are `v`, `:` and `*`.
 */
export const routeBranches = (path: string): string[] =>
  splitPath(path).map((segment) => (segment.startsWith(':') ? ':' : segment.startsWith('*') ? '*' : segment));

/**
 * The normalized path: `/v/:id/` and `/v/:name` have the shape `/v/:`. Two routes with the same
 * method and shape are in conflict.
 */
export const routeShape = (path: string): string => {
  const branches = routeBranches(path);
  return `/${(branches.at(-1) === '' ? branches.slice(0, -1) : branches).join('/')}`;
};

/** Parameter names in order; duplicates are kept. */
export const routeParams = (path: string): string[] =>
  splitPath(path)
    .filter((segment) => segment.startsWith(':') || segment.startsWith('*'))
    .map((segment) => segment.slice(1));

const isParam = (segment: string): boolean => segment.startsWith(':');

/** Whether some request path matches both patterns. */
export function pathsIntersect(a: string, b: string): boolean {
  const left = splitPath(a);
  const right = splitPath(b);
  for (let index = 0; ; index++) {
    const one = left[index];
    const two = right[index];
    if (one === undefined || two === undefined) return one === two;
    // A catch-all matches one segment or more, of which the first is not empty.
    if (one.startsWith('*')) return two !== '';
    if (two.startsWith('*')) return one !== '';
    if (isParam(one) ? two === '' : isParam(two) ? one === '' : one !== two) return false;
  }
}

/** Namespaces of our panel and API and of new-api's. Plugins have no routes in them. */
const RESERVED_NAMESPACES = [
  '/api',
  '/assets',
  '/icons',
  '/setup',
  '/v1/tasks',
  '/console',
  '/login',
  '/forbidden',
  '/sign-in',
  '/sign-up',
  '/forgot-password',
  '/oauth',
  '/otp',
  '/register',
  '/reset',
  '/privacy-policy',
  '/user-agreement',
  '/about',
  '/pricing',
  '/rankings',
  '/user',
  '/401',
  '/403',
  '/404',
  '/500',
  '/503',
  '/chat2link',
  '/system-settings',
  '/channels',
  '/chat',
  '/dashboard',
  '/errors',
  '/keys',
  '/models',
  '/notifications',
  '/playground',
  '/reference',
  '/profile',
  '/redemption-codes',
  '/subscriptions',
  '/system-info',
  '/task-plugins',
  '/usage-logs',
  '/tasks',
  '/usage',
  '/security',
  '/plugins',
  '/marketplace',
  '/prices',
  '/settings',
  '/audit',
  '/system',
  '/users',
  '/wallet',
  '/livez',
  '/readyz',
  '/metrics',
] as const;

/** The gateway's own paths outside those namespaces since its first release, for any method. */
const HOST_ROUTES = [
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/chat/completions',
  '/v1/embeddings',
  '/v1/images/edits',
  '/v1/images/generations',
  '/v1/models',
  '/v1/models/:model',
  '/v1/models/:model/:part',
  '/v1/models/:model/:part/:rest',
  '/v1/responses',
  '/v1/responses/:response_id',
  '/v1/responses/:response_id/cancel',
  '/v1/responses/:response_id/input_items',
  '/v1/videos',
  '/v1/videos/:task_id',
  '/v1/videos/:task_id/content',
  '/v1/videos/:task_id/remix',
] as const;

/**
 * Paths that the gateway has since a later release, for any method. New plugins have no routes
 * there; a plugin that was installed before keeps its own, and the gateway's yields to it.
 */
export const LATER_HOST_ROUTES = [
  '/api/pricing',
  '/case/:kind/:id',
  '/dashboard/billing/subscription',
  '/dashboard/billing/usage',
  '/mcp',
  '/queue',
  '/shared-case/:kind/:id',
  '/v1/batches',
  '/v1/batches/:batch_id',
  '/v1/batches/:batch_id/cancel',
  '/v1/callbacks/:task_id/:token',
  '/v1/dashboard/billing/subscription',
  '/v1/dashboard/billing/usage',
  '/v1/files',
  '/v1/files/:file_id',
  '/v1/files/:file_id/content',
  '/v1/usage',
  '/v1/video/generations',
  '/v1/video/generations/:task_id',
  '/v1/videos/edits',
  '/v1/videos/extensions',
  '/v1/videos/generations',
  '/v1/videos/generations/:task_id',
] as const;

/** The gateway's later path that a pattern could match, if any. */
export const findLaterHostRoute = (path: string): string | undefined => findRoute(LATER_HOST_ROUTES, path);

const findRoute = (routes: readonly string[], path: string): string | undefined =>
  routes.find((route) => pathsIntersect(path, route) || pathsIntersect(path, `${route}/`));

/** What the first release reserved: no plugin has routes there. */
export function reservedAtFirst(path: string): string | undefined {
  const segments = splitPath(path);
  const namespace = RESERVED_NAMESPACES.find((reserved) => {
    for (const [index, name] of splitPath(reserved).entries()) {
      const segment = segments[index];
      if (segment === undefined) return false;
      if (segment.startsWith('*')) return true;
      if (!isParam(segment) && segment !== name) return false;
    }
    return true;
  });
  return namespace ?? findRoute(HOST_ROUTES, path);
}
