import { ANONYMOUS_OWNER, type AppError, userOwner } from '../../kernel/index.ts';
import type { NativeError } from '../../plugins/index.ts';
import type { NativeRoute } from '../../surfaces/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { mediaType } from '../bodies/read-body.ts';
import { readAddress, readClientRequest } from '../bodies/read-client-request.ts';
import { countSuccess } from '../pipeline/admit-request.ts';
import { readApiKey } from '../pipeline/read-api-key.ts';
import type {
  Authenticators,
  FindNativePath,
  NativePathHandler,
  RequestLimits,
  RequestScope,
} from '../pipeline/types.ts';
import { errorResponse, httpErrors, toStatus } from '../responses/errors.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';

type NativeDeps = V1Deps & {
  auth: Pick<Authenticators, 'authenticateApiKey'>;
  limits: Pick<RequestLimits, 'modelRequests'>;
};

/**
 * How many refusals of callers without a valid key plugins may format at the same time. Further
 * callers get the gateway's own format: without a key, you cannot keep plugins busy.
 */
const MAX_ANONYMOUS_REFUSALS = 2;

/**
 * The paths that serving plugins declare. Only this router reads them, so the path that was matched
 * is the one that is served, by the plugin generation that served at that moment.
 */
export function createNativeRoutes(deps: NativeDeps): FindNativePath {
  let anonymousRefusals = 0;

  return (request, path) => {
    // With a fragment in the request line, a proxy in front may have read a different path.
    if (request.url.includes('#')) return undefined;
    const opened = deps.surfaces.openNativePath(request.method, path);
    if (!opened) return undefined;
    let client: ClientRequest | undefined;

    const presentError: NativePathHandler['presentError'] = async (error, received, scope) => {
      const plain = errorResponse(error, 'openai', scope.requestId);
      const anonymous = scope.api === undefined ? 1 : 0;
      if (anonymousRefusals + anonymous > MAX_ANONYMOUS_REFUSALS) return plain;
      anonymousRefusals += anonymous;
      const owner = scope.api ? userOwner(scope.api.user.id) : ANONYMOUS_OWNER;
      const params = opened.kind === 'route' ? opened.params : {};
      const decoded = client ?? { ...readAddress(received), params, body: { kind: 'none' as const } };
      try {
        const body = await opened.presentError(decoded, describeNativeError(error, scope.requestId), { owner });
        return body === undefined ? plain : Response.json(body, { status: plain.status, headers: plain.headers });
      } finally {
        anonymousRefusals -= anonymous;
      }
    };
    const handler = { presentError, release: () => opened.release() };
    if (opened.kind === 'no_route') return { ...handler, methods: opened.allow };
    return {
      ...handler,
      methods: [request.method],
      route: {
        method: request.method,
        pattern: opened.pattern,
        access: 'apiKey',
        takesBody: false,
        bodyLimit: opened.type === 'query' ? 'usual' : 'submission',
        critical: false,
        modelRequest: opened.type === 'submit',
        // What a dynamic route is for is known only after the plugin has decoded the request.
        reads: opened.type !== 'submit',
      },
      async answer(received, scope) {
        if (opened.type === 'query') refuseBody(received);
        if (!scope.api) throw new Error('A native route was reached without an API key.');
        client = await readClientRequest(received, opened.params, fileStorage(deps, scope.api));
        // After the body: until here the idle timeout cuts off a client that stops sending.
        if (opened.type !== 'query') scope.keepOpen();
        // Plugins see a HEAD as GET.
        if (scope.headersOnly) client = { ...client, method: 'GET' };
        try {
          return await answerNative(deps, opened, { client, request: received, scope });
        } finally {
          await client.release();
        }
      },
    };
  };
}

async function answerNative(
  deps: NativeDeps,
  opened: NativeRoute,
  { client, request, scope }: { client: ClientRequest; request: Request; scope: RequestScope },
): Promise<Response> {
  const { api, origin, requestId, log } = scope;
  if (!api) throw new Error('A native route was reached without an API key.');
  let recordSuccess = async () => {};
  const { body, replayed } = await opened.answer({
    caller: toCaller(api),
    requestId,
    request: client,
    async admit(model) {
      deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
      if (opened.type !== 'dynamic') return;
      // The request was admitted as one that reads, but it costs money: check the key again.
      const idempotencyKey = request.headers.get('idempotency-key');
      await deps.auth.authenticateApiKey(readApiKey(request.headers), { origin, purpose: 'submit', idempotencyKey });
      recordSuccess = await deps.limits.modelRequests(api, (state) => {
        scope.rateLimit = state;
      });
    },
  });
  if (!replayed) await countSuccess(recordSuccess, log);
  return Response.json(body, replayed ? { headers: { [REPLAYED]: 'true' } } : {});
}

/** GET may carry the headers of a body, because many clients always send them. */
function refuseBody({ method, headers, body }: Request): void {
  const reads = method === 'GET' || method === 'HEAD';
  if (reads || body === null || mediaType(headers) === '' || headers.get('content-length') === '0') return;
  throw httpErrors.unsupported_media({ message: 'This address accepts no body.' });
}

const CODES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_denied',
  404: 'task_not_found',
  409: 'request_conflict',
  429: 'rate_limit_exceeded',
};

/** Its words are the gateway's own, and say what an administrator has to do. */
const NO_CHANNEL = 'tasks.no_available_channel';

/**
 * A failure in the form that plugins translate into their vendor's format: one code per status, as
 * in new-api. Details of failures inside the gateway or at the vendor are left out. `retryable`: a
 * retry may succeed and buys nothing twice.
 */
function describeNativeError(error: AppError, requestId: string): NativeError {
  const httpStatus = toStatus(error);
  const isServerFault = httpStatus >= 500;
  return {
    code: isServerFault ? 'server_error' : (CODES[httpStatus] ?? 'invalid_request'),
    message: isServerFault && error.code !== NO_CHANNEL ? 'Task request failed' : error.message,
    httpStatus,
    retryable: (isServerFault || httpStatus === 429) && error.shouldRetry !== false,
    requestId,
  };
}
