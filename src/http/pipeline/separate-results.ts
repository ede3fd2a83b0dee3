import { httpErrors } from '../responses/errors.ts';
import { readHostName } from './guard-host.ts';
import type { DeclaredRoute, Peer } from './types.ts';

/** RESULTS_ORIGIN: an origin that has nothing but what vendors and strangers made. */
export type ResultsOrigin = {
  /** `https://results.example.com`; empty: results come from the panel's origin. */
  origin: string;
  /** It has a listener of its own; otherwise the name in `Host` decides. */
  ownListener: boolean;
};

/** Stricter than the router: what it reads otherwise is refused. */
const CONTENT_PATH = /^\/v1\/(?:tasks\/[^/]+\/artifacts|videos)\/[^/]+\/content$/;

export type ResultsSeparation = {
  /** Whether the request came to the results' origin. */
  isOnResults(request: Request, peer: Peer): boolean;
  /**
   * On the results' origin, everything but a link to content does not exist. Call it before the
   * route is looked up: a plugin's path is closed too.
   * @throws http.not_found
   */
  guard(request: Request, path: string): void;
  /** On any other origin: where a link to content leads. Undefined: the request is no such link. */
  redirect(request: Request, route: DeclaredRoute): Response | undefined;
  /** On any other origin: content that an API key opened is for programs, never displayed. */
  forbidDisplay(response: Response, route: DeclaredRoute): void;
};

/** Keeps content apart from the panel's origin, so that no flaw in a file reaches a session. */
export function createResultsSeparation({ origin, ownListener }: ResultsOrigin): ResultsSeparation {
  const isSeparate = origin !== '';
  const name = isSeparate ? new URL(origin).hostname : '';
  const servesContent = (route: DeclaredRoute): boolean => isSeparate && route.access === 'apiKeyOrCapability';

  return {
    isOnResults: (request, peer) =>
      isSeparate && (ownListener ? peer.onResultsListener === true : readHostName(request) === name),
    guard(request, path) {
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      if (!isRead || !CONTENT_PATH.test(path) || readAccess(request) === null) throw httpErrors.not_found();
    },
    redirect(request, route) {
      if (!servesContent(route) || readAccess(request) === null) return undefined;
      const { pathname, search } = new URL(request.url);
      const headers = { location: `${origin}${pathname}${search}`, 'cache-control': 'private, no-store' };
      return new Response(null, { status: 307, headers });
    },
    forbidDisplay({ headers }, route) {
      if (!servesContent(route) || headers.get('content-disposition')?.startsWith('attachment')) return;
      headers.set('content-disposition', 'attachment');
    },
  };
}

const readAccess = ({ url }: Request): string | null => new URL(url).searchParams.get('access');
