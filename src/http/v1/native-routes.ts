import { ANONYMOUS_OWNER, type AppError, userOwner } from '../../kernel/index.ts';
import type { ClientRequest, NativeRoute } from '../../tasks/index.ts';
import { mediaType } from '../bodies/read-body.ts';
import { readAddress, readClientRequest } from '../bodies/read-client-request.ts';
import { errorResponse, httpErrors } from '../errors.ts';
import type { Authenticators } from '../pipeline/authorize-request.ts';
import type { RequestLimits } from '../pipeline/handle-request.ts';
import type { RequestScope } from '../pipeline/request-scope.ts';
import { REPLAYED } from '../pipeline/response-headers.ts';
import type { DeclaredRoute } from '../pipeline/route-index.ts';
import { describeNativeError } from './describe-native-error.ts';
import { callerOf, formLimits, type V1Deps } from './task-routes.ts';

/** A plugin's route as the front door takes it. */
export type NativeService = {
  route: DeclaredRoute;
  methods: readonly string[];
  answer(request: Request, scope: RequestScope): Promise<Response>;
  /**
   * The answer to a failure of this request, in the vendor's words where the plugin has some. Never
   * rejects.
   */
  presentError(error: AppError, request: Request, scope: RequestScope): Promise<Response>;
  /** Called once the request is answered. */
  release(): void;
};

/**
 * Undefined: no serving plugin has this path. Without a `route` it has, but takes other `methods`.
 */
export type FindNative = (
  request: Request,
  path: string,
) => NativeService | { route?: undefined; methods: readonly string[] } | undefined;

type NativeDeps = V1Deps & {
  auth: Pick<Authenticators, 'authenticateApiKey'>;
  limits: Pick<RequestLimits, 'modelRequests'>;
};

/**
 * Callers without a valid key whose refusals plugins may put into words at the same time. More get
 * the gateway's own, so that nobody keeps plugins busy without a key.
 */
const MAX_STRANGERS = 2;

/**
 * The routes that serving plugins declare. No other router reads their address: the path that was
 * matched is the one that is served, by the plugins that served at that moment.
 */
export function createNativeRoutes(deps: NativeDeps): FindNative {
  let strangers = 0;

  return (request, path) => {
    // With a fragment in the request line, a proxy in front may have read another path.
    if (request.url.includes('#')) return undefined;
    const opened = deps.tasks.openNativeRoute(request.method, path);
    if (!opened) return undefined;
    if (opened.kind === 'method_not_allowed') return { methods: opened.allow };
    let client: ClientRequest | undefined;

    return {
      methods: [request.method],
      route: {
        method: request.method,
        pattern: opened.pattern,
        access: 'apiKey',
        takesBody: false,
        bodyLimit: opened.type === 'query' ? 'usual' : 'submission',
        critical: false,
        modelRequest: opened.type === 'submit',
        // What a dynamic route is asked for is known once it is decoded.
        reads: opened.type !== 'submit',
      },
      async answer(asked, scope) {
        if (opened.type === 'query') refuseBody(asked);
        if (!scope.api) throw new Error('A native route was reached without an API key.');
        client = await readClientRequest(asked, opened.params, formLimits(deps, scope.api));
        // Not before: whoever stops in the middle of a body is cut off.
        if (opened.type !== 'query') scope.keepOpen();
        // HEAD is answered as GET is, and plugins need not know of it.
        if (scope.headersOnly) client = { ...client, method: 'GET' };
        try {
          return await answer(deps, opened, client, asked, scope);
        } finally {
          await client.release();
        }
      },
      async presentError(error, asked, scope) {
        const plain = errorResponse(error, 'openai', scope.requestId);
        const stranger = scope.api === undefined ? 1 : 0;
        if (strangers + stranger > MAX_STRANGERS) return plain;
        strangers += stranger;
        const owner = scope.api ? userOwner(scope.api.user.id) : ANONYMOUS_OWNER;
        const seen = client ?? { ...readAddress(asked), params: opened.params, body: { kind: 'none' as const } };
        try {
          const body = await opened.presentError(seen, describeNativeError(error, scope.requestId), { owner });
          return body === undefined ? plain : Response.json(body, { status: plain.status, headers: plain.headers });
        } finally {
          strangers -= stranger;
        }
      },
      release: () => opened.release(),
    };
  };
}

async function answer(
  deps: NativeDeps,
  opened: NativeRoute,
  client: ClientRequest,
  { headers }: Request,
  { api, origin, requestId }: RequestScope,
): Promise<Response> {
  if (!api) throw new Error('A native route was reached without an API key.');
  let recordSuccess = async () => {};
  const { body, replayed } = await opened.answer({
    caller: callerOf(api),
    requestId,
    request: client,
    async admit(model) {
      deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
      if (opened.type !== 'dynamic') return;
      // It turned out to cost money, and was let in as one that reads.
      await deps.auth.authenticateApiKey(headers.get('authorization') ?? undefined, {
        ip: origin.decidingIp,
        purpose: 'submit',
      });
      recordSuccess = await deps.limits.modelRequests(api.user.id, api.group);
    },
  });
  if (!replayed) await recordSuccess();
  return Response.json(body, replayed ? { headers: { [REPLAYED]: 'true' } } : {});
}

/** GET may carry the headers of a body: many clients send them always. */
function refuseBody({ method, headers, body }: Request): void {
  const reads = method === 'GET' || method === 'HEAD';
  if (reads || body === null || mediaType(headers) === '' || headers.get('content-length') === '0') return;
  throw httpErrors.unsupported_media({ message: 'This address takes no body.' });
}
