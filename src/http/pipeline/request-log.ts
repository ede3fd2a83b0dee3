import type { Logger } from '../../kernel/index.ts';
import type { RouteResolution } from './find-route.ts';
import type { RequestScope } from './types.ts';

type FinishedRequest = {
  request: Request;
  path: string;
  scope: RequestScope;
  resolution: RouteResolution;
  status: number;
  milliseconds: number;
};

/** Writes the one line that every request has in the log. */
export function logRequest(logger: Logger, finished: FinishedRequest): void {
  const { request, path, scope, resolution, status, milliseconds } = finished;
  logger.info(
    {
      request_id: scope.requestId,
      method: request.method,
      // Without the query, which carries capabilities and one-time codes. For a plugin's route the
      // pattern: its path holds clients' task ids and whatever else a vendor's clients put there.
      path: resolution.native?.route
        ? resolution.native.route.pattern
        : hideTokens(path, resolution.route?.pattern ?? resolution.pattern),
      status,
      ms: Math.round(milliseconds * 10) / 10,
      ip: scope.origin.ip,
      user_id: scope.panel?.user.id ?? scope.api?.user.id,
    },
    'request',
  );
}

/** Replaces each segment whose parameter is named as a token by that name. */
function hideTokens(path: string, pattern = ''): string {
  if (!pattern.includes('token')) return path;
  const names = pattern.split('/');
  return path
    .split('/')
    .map((part, i) => (/^:\w*token$/.test(names[i] ?? '') ? names[i] : part))
    .join('/');
}
