/**
 * Providers of identities on loopback, each below a path of its own: OpenID Connect with real keys,
 * GitHub, Discord, LinuxDO, and plain OAuth 2.0. They check what they are sent as the real ones do,
 * PKCE and redirect address too.
 */
import { createHash, randomBytes } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';

export const CLIENT = { id: 'taskgate+client&id', secret: 'provider secret:äöü/+?-._*~' };

export type Person = { id: string; login: string; name: string; email: string; verified: boolean; level: number };
export const ALICE: Person = {
  id: '4711',
  login: 'alice',
  name: 'Alice Example',
  email: 'alice@example.org',
  verified: true,
  level: 2,
};

type Kind = 'oidc' | 'github' | 'discord' | 'linuxdo' | 'custom';
type Grant = { kind: Kind; redirectUri: string; challenge: string; nonce: string | null; person: Person };
type SignedKey = { kid: string; alg: string; privateKey: CryptoKey; publicKey: CryptoKey };

/** What goes wrong at a path that ends so: no answer at all, no JSON, a status. */
type Fault = 'hang' | 'garbage' | 'huge' | number;

/** How an ID token differs from a good one. */
export type TokenChange = {
  claims?: Record<string, unknown>;
  /** `none`, or HS256 keyed with the public key or the client's secret. */
  sign?: 'none' | 'hs256-public-key' | 'hs256-secret' | 'foreign-key';
  leaveOut?: boolean;
};

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

export async function startIdentityProvider() {
  const grants = new Map<string, Grant>();
  const tokens = new Map<string, Person>();
  const complaints: string[] = [];
  const requests: string[] = [];
  const faults = new Map<string, Fault>();
  const pending = new Set<() => void>();
  let key = await makeKey('RS256');
  const state = {
    person: ALICE,
    token: {} as TokenChange,
    /** Changes the discovery document. */
    document: {} as Record<string, unknown>,
    /** The subject at userinfo, if it is another. */
    profileSubject: undefined as string | undefined,
    /** More of the profile of the plain provider, and of the one with ID tokens. */
    profile: {} as Record<string, unknown>,
    /** Answers the code with a form instead of JSON. */
    formAnswers: false,
    /** How the plain provider wants its client to prove itself. */
    customProof: 'form' as 'form' | 'basic',
    /** The provider with ID tokens lists Basic and refuses it. */
    refusesBasic: false,
    /** More of the answer to a code, and what it is without. */
    answer: {} as Record<string, unknown>,
  };

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const url = new URL(request.url);
      requests.push(`${request.method} ${url.pathname}`);
      const fault = [...faults].find(([end]) => url.pathname.endsWith(end))?.[1];
      if (fault === 'hang') await new Promise<void>((resolve) => pending.add(resolve));
      if (fault === 'garbage') return new Response('<html>{{{', { headers: { 'content-type': 'application/json' } });
      if (fault === 'huge') return new Response(`{"a":"${'x'.repeat(2_000_000)}"}`);
      if (typeof fault === 'number') return Response.json({ error: 'server_error' }, { status: fault });
      return answer(request, url);
    },
  });
  const base = `http://127.0.0.1:${server.port}`;
  const issuer = `${base}/oidc`;

  async function answer(request: Request, { pathname, searchParams }: URL): Promise<Response> {
    const [, kind = '', ...rest] = pathname.split('/');
    const path = rest.join('/');
    switch (`${kind}/${path}`) {
      case 'oidc/.well-known/openid-configuration':
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256', 'none'],
          authorization_response_iss_parameter_supported: true,
          scopes_supported: ['openid', 'profile', 'email'],
          ...state.document,
        });
      case 'oidc/jwks':
        return Response.json({
          keys: [{ ...(await exportJWK(key.publicKey)), kid: key.kid, alg: key.alg, use: 'sig' }],
        });
      case 'oidc/authorize':
      case 'github/login/oauth/authorize':
      case 'discord/oauth2/authorize':
      case 'linuxdo/oauth2/authorize':
      case 'custom/authorize':
        return authorize(kind as Kind, searchParams);
      case 'oidc/token':
      case 'github/login/oauth/access_token':
      case 'discord/api/v10/oauth2/token':
      case 'linuxdo/oauth2/token':
      case 'custom/token':
        return exchange(kind as Kind, request);
      default:
        return profile(`${kind}/${path}`, request);
    }
  }

  function complain(what: string, status = 400, error = 'invalid_grant'): Response {
    complaints.push(what);
    return Response.json({ error, error_description: what }, { status });
  }

  function authorize(kind: Kind, query: URLSearchParams): Response {
    const redirectUri = query.get('redirect_uri') ?? '';
    if (query.get('client_id') !== CLIENT.id) return complain('authorize: client_id');
    if (query.get('response_type') !== 'code') return complain('authorize: response_type');
    if (!URL.canParse(redirectUri)) return complain('authorize: redirect_uri');
    if (query.get('code_challenge_method') !== 'S256') return complain('authorize: no PKCE');
    if (kind === 'oidc' && !query.get('scope')?.split(' ').includes('openid')) return complain('authorize: scope');
    const code = randomBytes(16).toString('hex');
    grants.set(code, {
      kind,
      redirectUri,
      challenge: query.get('code_challenge') ?? '',
      nonce: query.get('nonce'),
      person: state.person,
    });
    const back = new URL(redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    if (kind === 'oidc') back.searchParams.set('iss', issuer);
    return Response.redirect(back.href, 302);
  }

  async function exchange(kind: Kind, request: Request): Promise<Response> {
    const isJson = request.headers.get('content-type')?.startsWith('application/json') ?? false;
    if (isJson !== (kind === 'github')) return complain(`${kind}: content type`);
    const fields: Record<string, string> = isJson
      ? ((await request.json()) as Record<string, string>)
      : Object.fromEntries(new URLSearchParams(await request.text()));
    const basic =
      kind === 'linuxdo' ||
      (kind === 'oidc' && !state.refusesBasic) ||
      (kind === 'custom' && state.customProof === 'basic');
    if (!provesClient(request, fields, basic)) return complain(`${kind}: client`, 401, 'invalid_client');
    const grant = grants.get(fields.code ?? '');
    if (grant?.kind !== kind || fields.grant_type !== 'authorization_code') return complain(`${kind}: code`);
    grants.delete(fields.code ?? '');
    if (fields.redirect_uri !== grant.redirectUri) return complain(`${kind}: redirect_uri`);
    const challenge = createHash('sha256')
      .update(fields.code_verifier ?? '')
      .digest('base64url');
    if (challenge !== grant.challenge) return complain(`${kind}: code_verifier`);
    const token = randomBytes(16).toString('hex');
    tokens.set(token, grant.person);
    const body: Record<string, string> = { access_token: token, token_type: 'bearer' };
    if (kind === 'oidc' && !state.token.leaveOut) body.id_token = await idToken(grant);
    if (!state.formAnswers) return Response.json({ ...body, ...state.answer });
    return new Response(new URLSearchParams(body).toString(), {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  }

  async function idToken(grant: Grant): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer,
      sub: grant.person.id,
      aud: CLIENT.id,
      iat: now,
      exp: now + 300,
      ...(grant.nonce === null ? {} : { nonce: grant.nonce }),
      ...state.token.claims,
    };
    switch (state.token.sign) {
      case 'none':
        return new UnsecuredJWT(claims).encode();
      case 'hs256-public-key':
        return signHs256(claims, await exportSPKI(key.publicKey));
      case 'hs256-secret':
        return signHs256(claims, CLIENT.secret);
      case 'foreign-key': {
        const { privateKey } = await makeKey(key.alg);
        return new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid }).sign(privateKey);
      }
      default:
        return new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid }).sign(key.privateKey);
    }
  }

  const signHs256 = (claims: Record<string, unknown>, secret: string) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: key.kid }).sign(new TextEncoder().encode(secret));

  function profile(place: string, request: Request): Response {
    const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
    const person = tokens.get(token);
    if (!person) return complain(`${place}: token`, 401, 'invalid_token');
    const { login, name, email, verified } = person;
    switch (place) {
      case 'oidc/userinfo':
        return Response.json({
          sub: state.profileSubject ?? person.id,
          preferred_username: login,
          name,
          email,
          email_verified: verified,
          ...state.profile,
        });
      case 'github/api/user':
        return Response.json({ id: Number(person.id), login, name, email: 'unverified@example.org' });
      case 'github/api/user/emails':
        return Response.json([
          { email: 'other@example.org', primary: false, verified: true },
          { email, primary: true, verified },
        ]);
      case 'discord/api/v10/users/@me':
        return Response.json({ id: person.id, username: login, global_name: name });
      case 'linuxdo/api/user':
        return Response.json({ id: Number(person.id), username: login, name, trust_level: person.level });
      case 'custom/me':
        return Response.json({
          data: { user: { id: Number(person.id), login, names: [name] } },
          mail: email,
          email_verified: verified,
          ...state.profile,
        });
      default:
        return new Response('nothing here', { status: 404 });
    }
  }

  return {
    base,
    issuer,
    wellKnown: `${issuer}/.well-known/openid-configuration`,
    state,
    complaints,
    requests,
    faults,
    /** Settings of the gateway's auth room under which every kind is switched on. */
    settings: () => ({
      github: {
        clientId: CLIENT.id,
        clientSecret: CLIENT.secret,
        baseUrl: `${base}/github`,
        apiUrl: `${base}/github/api`,
      },
      discord: { clientId: CLIENT.id, clientSecret: CLIENT.secret, baseUrl: `${base}/discord` },
      linuxdo: {
        clientId: CLIENT.id,
        clientSecret: CLIENT.secret,
        baseUrl: `${base}/linuxdo`,
        minimumTrustLevel: 1,
      },
      oidc: {
        displayName: 'OIDC',
        clientId: CLIENT.id,
        clientSecret: CLIENT.secret,
        wellKnown: `${issuer}/.well-known/openid-configuration`,
        authorizationEndpoint: '',
        tokenEndpoint: '',
        userInfoEndpoint: '',
      },
    }),
    /** The same as options of a gateway. */
    options: (): Record<string, string> => ({
      GitHubClientId: CLIENT.id,
      GitHubClientSecret: CLIENT.secret,
      GitHubBaseUrl: `${base}/github`,
      GitHubApiUrl: `${base}/github/api`,
      GitHubOAuthEnabled: 'true',
      'discord.client_id': CLIENT.id,
      'discord.client_secret': CLIENT.secret,
      'discord.base_url': `${base}/discord`,
      'discord.enabled': 'true',
      LinuxDOClientId: CLIENT.id,
      LinuxDOClientSecret: CLIENT.secret,
      LinuxDOBaseUrl: `${base}/linuxdo`,
      LinuxDOOAuthEnabled: 'true',
      'oidc.client_id': CLIENT.id,
      'oidc.client_secret': CLIENT.secret,
      'oidc.well_known': `${issuer}/.well-known/openid-configuration`,
      'oidc.enabled': 'true',
    }),
    /** Fields of the plain one as a provider that root adds. */
    addedProvider: () => ({
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      authorization_endpoint: `${base}/custom/authorize`,
      token_endpoint: `${base}/custom/token`,
      user_info_endpoint: `${base}/custom/me`,
      user_id_field: 'data.user.id',
      username_field: 'data.user.login',
    }),
    /** Keys of another kind, or new ones of the same; the old ones are gone. */
    async rotate(alg: 'RS256' | 'ES256'): Promise<void> {
      key = await makeKey(alg);
    },
    /** What a browser does there: the person agrees, and comes back with these parameters. */
    async agree(authorizationUrl: string): Promise<{ at: string; query: Record<string, string> }> {
      const response = await fetch(authorizationUrl, { redirect: 'manual' });
      const back = new URL(response.headers.get('location') ?? 'http://nowhere.invalid/');
      if (response.status !== 302) throw new Error(`the provider refused: ${await response.text()}`);
      return { at: `${back.origin}${back.pathname}`, query: Object.fromEntries(back.searchParams) };
    },
    /** Everything as it was at the start. */
    reset(): void {
      Object.assign(state, {
        person: ALICE,
        token: {},
        document: {},
        profileSubject: undefined,
        profile: {},
        formAnswers: false,
        customProof: 'form',
        refusesBasic: false,
        answer: {},
      });
      faults.clear();
      complaints.length = 0;
      requests.length = 0;
      for (const release of pending) release();
      pending.clear();
    },
    async stop(): Promise<void> {
      for (const release of pending) release();
      await server.stop(true);
    },
  };
}

async function makeKey(alg: string): Promise<SignedKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid: randomBytes(6).toString('hex'), alg, privateKey, publicKey };
}

function provesClient(request: Request, fields: Record<string, string>, basic: boolean): boolean {
  const header = request.headers.get('authorization');
  if (!basic) return header === null && fields.client_id === CLIENT.id && fields.client_secret === CLIENT.secret;
  const given = Buffer.from((header ?? '').replace(/^Basic /, ''), 'base64').toString();
  // As strict as some are: exactly what a form would hold.
  const encoded = ({ id, secret }: typeof CLIENT) =>
    [id, secret].map((text) => new URLSearchParams({ '': text }).toString().slice(1)).join(':');
  return !('client_secret' in fields) && given === encoded(CLIENT);
}
