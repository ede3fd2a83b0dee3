import type { ApiPrincipal, PanelPrincipal, RequestOrigin } from '../../auth/index.ts';
import type { Logger } from '../../kernel/index.ts';
import type { JsonBody } from '../bodies/read-json.ts';
import type { DeclaredRoute } from './route-index.ts';

/** What the front door knows of one request before a controller sees it. */
export type RequestScope = {
  readonly requestId: string;
  readonly origin: RequestOrigin;
  /** Its lines carry the request id. */
  readonly log: Logger;
  /**
   * Takes the idle timeout off this connection: for answers that stream or wait for minutes. Who
   * streams events calls what it gives at their end.
   */
  readonly keepOpen: () => () => void;
  readonly route: DeclaredRoute;
  /** The client asked with HEAD; its handler runs under GET and need not open a body. */
  readonly headersOnly: boolean;
  panel?: PanelPrincipal;
  api?: ApiPrincipal;
  /** Of a panel request, once it is read. Its files are released when the request is answered. */
  body?: JsonBody;
};

/** Scopes by request object, so that nothing of a request outlives it. */
export type RequestScopes = {
  put(request: Request, scope: RequestScope): void;
  /** Throws when the request did not come through the front door. */
  of(request: Request): RequestScope;
};

export function createRequestScopes(): RequestScopes {
  const scopes = new WeakMap<Request, RequestScope>();
  return {
    put: (request, scope) => void scopes.set(request, scope),
    of(request) {
      const scope = scopes.get(request);
      if (!scope) throw new Error('A request reached a controller without passing the front door.');
      return scope;
    },
  };
}
