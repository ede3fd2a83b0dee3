import { Elysia, t } from 'elysia';
import type { ApiPrincipal, PanelPrincipal } from '../../auth/index.ts';
import { BODY_LIMITS, type BodyLimit, type BodyLimitName } from '../bodies/body-limits.ts';
import { assertJsonType } from '../bodies/read-body.ts';
import { readJsonBody } from '../bodies/read-json.ts';
import type { UploadFolder } from '../bodies/upload-folder.ts';
import { httpErrors } from '../errors.ts';
import type { ProofNeed } from '../panel-api/sign-in/security-proof.ts';
import type { UserLimitScope } from './access-levels.ts';
import type { RequestScope, RequestScopes } from './request-scope.ts';

/** Where files of bodies go, and how large one may be. */
export type FileBudget = { uploads: UploadFolder; maxFileBytes: number };

/**
 * What every controller begins with: `new Elysia().use(kit)`. It gives each handler `requestId`,
 * `origin`, `log`, `keepOpen`, `headersOnly`, `files` (what was taken out of a panel body, where
 * the route lets it), and by the access that the route declares (`{ user: true }`, `{ apiKey: true
 * }`, …) `panel` or `api`, fully typed.
 *
 * Authentication itself happens at the front door, before a body is read; here a route only says
 * what it needs. Panel routes get their JSON parsed under a cap and checked against `body`; API-key
 * routes get the request unread.
 */
export function createKit(scopes: RequestScopes, room: FileBudget) {
  const panelOf = (request: Request): { panel: PanelPrincipal } => {
    const { panel } = scopes.of(request);
    if (!panel) throw new Error('A panel route was reached without a panel user.');
    return { panel };
  };
  const apiOf = (request: Request): { api: ApiPrincipal } => {
    const { api } = scopes.of(request);
    if (!api) throw new Error('An API-key route was reached without an API key.');
    return { api };
  };

  const parse = ({ request }: { request: Request }) => readPanelJson(request, scopes.of(request), room);

  return new Elysia({ name: 'kit', normalize: false })
    .derive({ as: 'global' }, ({ request, route }) => {
      const { requestId, origin, log, keepOpen, headersOnly, body, route: entered } = scopes.of(request);
      // Two readings of one address must not let a caller in by one route and serve him another (a
      // `#` in the request line does).
      if (route !== entered.pattern) throw httpErrors.not_found();
      const files = body?.extracted && { extracted: body.extracted, bodySha256: body.sha256 };
      return { requestId, origin, log, keepOpen, headersOnly, files };
    })
    .macro({
      public: { parse, detail: access('public') },
      user: { parse, detail: access('user'), resolve: ({ request }) => panelOf(request) },
      session: {
        parse,
        detail: access('session'),
        resolve: ({ request }) => {
          const { panel } = panelOf(request);
          if (panel.kind !== 'session') throw new Error('A session route was reached without a session.');
          return { panel };
        },
      },
      admin: { parse, detail: access('admin'), resolve: ({ request }) => panelOf(request) },
      root: { parse, detail: access('root'), resolve: ({ request }) => panelOf(request) },
      refreshCookie: { parse, detail: access('refreshCookie') },
      /** Counted by the Critical limiter per address, besides its access. */
      critical: { detail: { 'x-limit': 'critical' } as object },
      /**
       * Counted by a Critical limiter of the signed-in user's own, besides the one per address;
       * each scope counts apart.
       */
      perUser: (scope: UserLimitScope) => ({ detail: { 'x-limit-per-user': scope } as object }),
      /** Which bounds the body has, where it needs more than `usual`. */
      bodyLimit: (name: BodyLimitName) => ({ detail: { 'x-body-limit': name } as object }),
      /** Takes a Security Proof in a header; the handler reads and checks it. */
      proof: (need: ProofNeed) => ({ detail: { 'x-security-proof': need } as object }),
      /**
       * Counted by the user's limit of model requests, on every route by which a task is submitted.
       */
      modelRequest: { detail: { 'x-limit-model-requests': true } as object },
      operator: { parse: leaveUnread, detail: access('operator') },
      apiKey: { parse: leaveUnread, detail: access('apiKey'), resolve: ({ request }) => apiOf(request) },
      apiKeyOrCapability: {
        parse: leaveUnread,
        detail: access('apiKeyOrCapability'),
        resolve: ({ request }): { api: ApiPrincipal | undefined } => ({ api: scopes.of(request).api }),
      },
    });
}

export type Kit = ReturnType<typeof createKit>;

const access = (level: string) => ({ 'x-access': level }) as object;

/** `null` says that the body is dealt with; the framework then leaves the request unread. */
const leaveUnread = () => null;

/** `null` where the route takes no body: what is sent there stays unread. */
async function readPanelJson(request: Request, scope: RequestScope, { uploads, maxFileBytes }: FileBudget) {
  const { route, panel } = scope;
  if (!route.takesBody) return null;
  assertJsonType(request);
  const limit: BodyLimit = BODY_LIMITS[route.bodyLimit];
  const storage =
    limit.maxWireBytes === undefined || !panel ? undefined : { uploads: uploads.of(panel.user.id), maxFileBytes };
  scope.body = await readJsonBody(request, limit, storage);
  return scope.body.value;
}

/** A body that names every field it takes; others are refused by name. */
export const strictObject = <T extends Parameters<typeof t.Object>[0]>(properties: T) =>
  t.Object(properties, { additionalProperties: false });

/** A whole number, never its text: the framework's own integer type would take `"5"` as well. */
export const whole = (options: { minimum?: number; maximum?: number; description?: string; default?: number } = {}) =>
  t.Number({ multipleOf: 1, ...options });

/** The envelope of success on `/api`. */
export const ok = <T>(data: T): { success: true; message: ''; data: T } => ({ success: true, message: '', data });
