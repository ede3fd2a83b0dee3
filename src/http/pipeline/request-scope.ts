import type { RequestScope } from './types.ts';

/** Hands each request's scope from the pipeline to its controller. */
export type RequestScopes = {
  put(request: Request, scope: RequestScope): void;
  /** @throws Error when the request did not come through the pipeline */
  of(request: Request): RequestScope;
};

/** Keyed weakly by the request object, so that a scope lives no longer than its request. */
export function createRequestScopes(): RequestScopes {
  const scopes = new WeakMap<Request, RequestScope>();
  return {
    put: (request, scope) => void scopes.set(request, scope),
    of(request) {
      const scope = scopes.get(request);
      if (!scope) throw new Error('A request reached a controller without passing the pipeline.');
      return scope;
    },
  };
}
