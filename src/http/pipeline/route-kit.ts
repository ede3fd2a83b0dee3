import { Elysia, t } from 'elysia';
import type { ApiPrincipal, PanelPrincipal } from '../../auth/index.ts';
import { BODY_LIMITS, type BodyLimit, type BodyLimitName } from '../bodies/body-limits.ts';
import { assertJsonType } from '../bodies/read-body.ts';
import { readJsonBody } from '../bodies/read-json.ts';
import type { UploadFolder } from '../bodies/upload-folder.ts';
import type { ProofNeed, UserLimitScope } from './access-levels.ts';
import type { RequestScope } from './types.ts';

/** Where files of bodies are stored, and how large one may be. */
export type FileStorageConfig = { uploads: UploadFolder; maxFileBytes: number };

/**
 * The base of every controller: `new Elysia().use(kit)`. It gives each handler `requestId`,
 * `origin`, `log`, `keepOpen`, `headersOnly` and the whole `scope`, whose `body` has the files that
 * were extracted from a panel body and its digests. By the access that the route declares
 * (`{ user: true }`, `{ apiKey: true }`, …) it adds `panel` or `api`, fully typed.
 *
 * A route only declares what it needs: the pipeline authenticates before a body is read. For panel
 * routes the kit parses the JSON under the route's limit and checks it against `body`; API-key
 * routes get the request unread.
 */
export function createKit(storage: FileStorageConfig) {
  const parse = ({ request, scope }: { request: Request } & KitContext) => readPanelJson(request, scope, storage);

  return new Elysia({ name: 'kit', normalize: false }).decorate({} as KitContext).macro({
    public: { parse, detail: access('public') },
    user: { parse, detail: access('user'), resolve: requirePanel },
    session: {
      parse,
      detail: access('session'),
      resolve: ({ scope }) => {
        const { panel } = requirePanel({ scope });
        if (panel.kind !== 'session') throw new Error('A session route was reached without a session.');
        return { panel };
      },
    },
    admin: { parse, detail: access('admin'), resolve: requirePanel },
    root: { parse, detail: access('root'), resolve: requirePanel },
    refreshCookie: { parse, detail: access('refreshCookie') },
    /** Counted by the Critical limiter per address. */
    critical: { detail: { 'x-limit': 'critical' } as object },
    /**
     * Counted by a Critical limiter per signed-in user, in addition to the one per address. Each
     * scope counts separately.
     */
    perUser: (scope: UserLimitScope) => ({ detail: { 'x-limit-per-user': scope } as object }),
    /** The limits of the body; default: `usual`. */
    bodyLimit: (name: BodyLimitName) => ({ detail: { 'x-body-limit': name } as object }),
    /**
     * The OpenAPI document says that the route takes a Security Proof in a header. It enforces
     * nothing: the handler reads and requires it (`PROOF_SCOPE` in `auth` says where).
     */
    documentsProof: (need: ProofNeed) => ({ detail: { 'x-security-proof': need } as object }),
    /** Counted by the user's limit of model requests: on every route that submits a task. */
    modelRequest: { detail: { 'x-limit-model-requests': true } as object },
    operator: { parse: leaveUnread, detail: access('operator') },
    apiKey: { parse: leaveUnread, detail: access('apiKey'), resolve: requireApiKey },
    apiKeyOrCapability: {
      parse: leaveUnread,
      detail: access('apiKeyOrCapability'),
      resolve: ({ scope }): { api: ApiPrincipal | undefined } => ({ api: scope.api }),
    },
  });
}

export type Kit = ReturnType<typeof createKit>;

/** What every handler gets beside the framework's own; the pipeline puts it into the context. */
type KitContext = { scope: RequestScope } & Pick<
  RequestScope,
  'requestId' | 'origin' | 'log' | 'keepOpen' | 'headersOnly'
>;

function requirePanel({ scope: { panel } }: Pick<KitContext, 'scope'>): { panel: PanelPrincipal } {
  if (!panel) throw new Error('A panel route was reached without a panel user.');
  return { panel };
}

function requireApiKey({ scope: { api } }: Pick<KitContext, 'scope'>): { api: ApiPrincipal } {
  if (!api) throw new Error('An API-key route was reached without an API key.');
  return { api };
}

const access = (level: string) => ({ 'x-access': level }) as object;

/** `null` tells the framework that the body is handled, so it leaves the request unread. */
const leaveUnread = () => null;

/** Returns `null` for a route that takes no body; what the client sent stays unread. */
async function readPanelJson(request: Request, scope: RequestScope, { uploads, maxFileBytes }: FileStorageConfig) {
  const { route, panel } = scope;
  if (!route.takesBody) return null;
  assertJsonType(request);
  const limit: BodyLimit = BODY_LIMITS[route.bodyLimit];
  const storage =
    limit.maxWireBytes === undefined || !panel ? undefined : { uploads: uploads.of(panel.user.id), maxFileBytes };
  scope.body = await readJsonBody(request, limit, storage);
  return scope.body.value;
}

/** A body that names every field it takes; any other field is refused by name. */
export const strictObject = <T extends Parameters<typeof t.Object>[0]>(properties: T) =>
  t.Object(properties, { additionalProperties: false });

/** A whole number. The framework's own integer type would also accept the text `"5"`. */
export const integerSchema = (
  options: { minimum?: number; maximum?: number; description?: string; default?: number } = {},
) => t.Number({ multipleOf: 1, ...options });

type TextOptions = { minimum?: number; maximum?: number; default?: number; description?: string };

/** A whole number in a query: a text here, a number in the OpenAPI document. */
export const integerText = (options: TextOptions = {}) =>
  t.String({ maxLength: 15, 'x-schema': { type: 'integer', ...options } });

/** The success envelope of `/api`. */
export type Ok<T> = { success: true; message: ''; data: T };
export const ok = <T>(data: T): Ok<T> => ({ success: true, message: '', data });
