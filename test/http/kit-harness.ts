/**
 * The request pipeline with a few routes of every access level, and authenticators that know four
 * callers.
 */
import { join } from 'node:path';
import { Elysia, t } from 'elysia';
import type { ApiPrincipal, PanelPrincipal } from '../../src/auth/index.ts';
import { assemblePipeline, type HttpConfig, type HttpFoundation } from '../../src/http/assemble-pipeline.ts';
import { readBody } from '../../src/http/bodies/read-body.ts';
import { createUploadBudget, openUploadFolder } from '../../src/http/bodies/upload-folder.ts';
import { createHealth, type ReadinessChecks } from '../../src/http/operator/health.ts';
import { createMetrics, createMetricsRoute } from '../../src/http/operator/metrics.ts';
import { createSessionCookies } from '../../src/http/panel-api/sign-in/session-cookies.ts';
import type { PanelManifest } from '../../src/http/panel-files/panel-manifest.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../src/http/pipeline/route-kit.ts';
import type { Authenticators, RequestLimits } from '../../src/http/pipeline/types.ts';
import { AppError, type Logger, systemClock } from '../../src/kernel/index.ts';
import type { UserRecord } from '../../src/store/ports/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const SECRET_CAUSE = 'SELECT password FROM users -- /home/secret/file.ts:1';
export const V1_CAP = 2 * 1024 * 1024;

export type LogLine = { level: string; fields: Record<string, unknown>; message: string };

/** A logger that records its lines, with the fields of its parents. */
export function recordingLogger(lines: LogLine[] = [], base: object = {}): { logger: Logger; lines: LogLine[] } {
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...base, ...fields }, message });
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => recordingLogger(lines, { ...base, ...fields }).logger,
  };
  return { logger, lines };
}

const user = (id: number, role: 1 | 10 | 100): UserRecord => ({
  id,
  username: `user${id}`,
  displayName: '',
  passwordHash: null,
  role,
  status: 1,
  email: null,
  group: 'default',
  quota: 0,
  usedQuota: 0,
  walletId: id,
  budget: null,
  requestsPerMinute: null,
  maxRunning: null,
  requestCount: 0,
  language: 'en',
  authVersion: 1,
  linkVersion: 0,
  createdAt: 0,
  lastLoginAt: 0,
});

const PANEL: Record<string, PanelPrincipal> = {
  'Bearer user': { kind: 'session', user: user(1, 1), sid: 's1', sessionVersion: 1 },
  'Bearer pat': { kind: 'pat', user: user(1, 1), tokenHash: '' },
  'Bearer admin': { kind: 'session', user: user(2, 10), sid: 's2', sessionVersion: 1 },
  'Bearer root': { kind: 'session', user: user(3, 100), sid: 's3', sessionVersion: 1 },
};

export type KitOptions = {
  config?: { [K in keyof HttpConfig]?: HttpConfig[K] };
  checks?: ReadinessChecks;
  panel?: PanelManifest;
  thirdParties?: HttpFoundation['panel']['thirdParties'];
  limits?: Partial<RequestLimits>;
  auth?: Authenticators;
  routes?: (kit: Kit) => Elysia;
  findNativePath?: HttpFoundation['findNativePath'];
  onRequest?: () => void;
};

export function openKit(options: KitOptions = {}) {
  const { logger, lines } = recordingLogger();
  const metrics = createMetrics();
  const config: HttpConfig = {
    secureCookies: false,
    trustedOrigins: [],
    trustedProxies: [],
    decidingProxies: options.config?.trustedProxies ?? [],
    tls: false,
    metricsToken: '',
    ...options.config,
  };
  const app = assemblePipeline(
    {
      config,
      observed: { metrics, onRequest: options.onRequest ?? (() => {}) },
      panel: {
        manifest: options.panel ?? { files: [], indexHtml: '' },
        version: '0.0.0',
        branding: () => ({ name: 'Taskgate', logo: '' }),
        thirdParties: options.thirdParties ?? (() => ({ turnstile: false, telegram: false })),
      },
      findNativePath: options.findNativePath ?? (() => undefined),
      files: {
        maxFileBytes: 64 * 1024 * 1024,
        uploads: openUploadFolder({
          folder: join(temporaryFolder(), 'uploads'),
          budget: createUploadBudget({ nodeBytes: Number.POSITIVE_INFINITY, userBytes: Number.POSITIVE_INFINITY }),
          logger,
        }),
      },
      clock: systemClock,
      logger,
      limits: {
        api: async () => {},
        critical: async () => {},
        user: async () => {},
        modelRequests: async () => async () => {},
        ...options.limits,
      },
      auth: options.auth ?? {
        async authenticatePanel(authorization) {
          const principal = PANEL[authorization ?? ''];
          if (!principal)
            throw new AppError('auth.unauthorized', 'unauthenticated', { message: 'Sign in to continue.' });
          return principal;
        },
        async authenticateApiKey(authorization, use) {
          if (authorization !== 'Bearer sk-good' || use.origin.decidingIp === undefined) {
            throw new AppError('auth.api_key_invalid', 'unauthenticated', { message: 'The API key is not valid.' });
          }
          return {
            kind: 'api_key',
            user: user(4, 1),
            key: { id: 9, walletId: 4 },
            group: 'default',
          } as unknown as ApiPrincipal;
        },
      },
    },
    (kit) => [
      ...(options.routes ? [options.routes(kit)] : []),
      sampleRoutes(kit, config),
      createHealth({ kit, checks: options.checks ?? {}, outOfService: () => undefined, clock: systemClock, logger }),
      createMetricsRoute({ kit, metrics }),
    ],
  );
  return { ...app, lines };
}

function sampleRoutes(kit: Kit, config: HttpConfig) {
  const cookies = createSessionCookies({ secure: config.secureCookies });
  return new Elysia({ normalize: false })
    .use(kit)
    .get('/api/open', ({ origin }) => ok({ ip: origin.ip, decides: origin.decidingIp, agent: origin.userAgent }), {
      public: true,
    })
    .post('/api/open', ({ body }) => ok(body), {
      public: true,
      body: strictObject({ text: t.String({ maxLength: 100_000 }) }),
    })
    .post('/api/guess', () => ok(null), { public: true, critical: true })
    .post('/api/scoped', () => ok(null), { user: true, critical: true, perUser: 'access-token' })
    .get('/api/self', ({ panel, requestId }) => ok({ id: panel.user.id, requestId }), { user: true })
    .get('/api/self/:name', ({ params }) => ok(params.name), { user: true })
    .get('/api/session', ({ panel }) => ok(panel.sid), { session: true })
    .get('/api/admin', () => ok(null), { admin: true })
    .get('/api/root', () => ok(null), { root: true })
    .put('/api/thing', ({ body }) => ok(body), {
      user: true,
      body: strictObject({
        name: t.String({ minLength: 2, maxLength: 5 }),
        count: t.Optional(integerSchema({ minimum: 1 })),
        tags: t.Optional(t.Array(t.String({ maxLength: 100 }), { maxItems: 10 })),
        mode: t.Optional(t.Union([t.Literal('a'), t.Literal('b')])),
      }),
    })
    .get(
      '/api/crash',
      () => {
        throw new Error(SECRET_CAUSE);
      },
      { public: true },
    )
    .get(
      '/api/busy',
      () => {
        throw new AppError('tasks.vendor_busy', 'rate_limited', {
          message: 'Busy.',
          retryAfterSeconds: 6.2,
          shouldRetry: false,
          cause: SECRET_CAUSE,
        });
      },
      { public: true },
    )
    .post(
      '/api/cookies/write',
      ({ cookie }) => {
        cookies.write(cookie, { refreshToken: 'sid.secret', expiresAt: 1_000_060, now: 1_000_000 });
        return ok(null);
      },
      { public: true },
    )
    .post(
      '/api/cookies/refuse',
      ({ cookie }) => {
        cookies.clear(cookie);
        throw new AppError('auth.session_revoked', 'unauthenticated', { message: 'Ended.' });
      },
      { public: true, critical: true },
    )
    .get('/api/cookies/read', ({ cookie }) => ok(cookies.read(cookie) ?? null), { public: true })
    .post('/api/refresh', () => ok(null), { refreshCookie: true })
    .get('/v1/things/:id', ({ api, params }) => ({ user: api.user.id, id: params.id }), { apiKey: true })
    .post('/v1/jobs', ({ query }) => new Response(null, { status: Number(query.answer) }), {
      apiKey: true,
      modelRequest: true,
    })
    .post('/v1/things', async ({ request }) => ({ bytes: (await readBody(request, V1_CAP)).byteLength }), {
      apiKey: true,
      bodyLimit: 'submission',
    })
    .get('/v1/files/:id', ({ api }) => ({ user: api?.user.id ?? null }), { apiKeyOrCapability: true })
    .get(
      '/v1/crash',
      () => {
        throw new Error(SECRET_CAUSE);
      },
      { apiKey: true },
    );
}

export type App = ReturnType<typeof openKit>;

export type Call = {
  method?: string;
  path: string;
  as?: string;
  headers?: Record<string, string>;
  body?: BodyInit | object;
  peer?: string;
};

/** Sends one request through the pipeline; objects are sent as JSON. */
export async function call(app: Pick<App, 'handle'>, request: Call) {
  const json = isPlain(request.body);
  const response = await app.handle(
    new Request(`http://gateway.local${request.path}`, {
      method: request.method ?? 'GET',
      headers: {
        host: 'gateway.local',
        ...(request.as ? { authorization: `Bearer ${request.as}` } : {}),
        ...(json ? { 'content-type': 'application/json' } : {}),
        ...request.headers,
      },
      ...(request.body === undefined ? {} : { body: json ? JSON.stringify(request.body) : (request.body as BodyInit) }),
    }),
    { address: request.peer ?? '203.0.113.9', keepOpen: () => () => {} },
  );
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

const isPlain = (body: unknown): body is object =>
  typeof body === 'object' &&
  body !== null &&
  [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(body));

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
