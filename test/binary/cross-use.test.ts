/**
 * Every credential of the gateway, presented wherever another kind is expected: all are refused,
 * and the attempt uses up and ends nothing. The matrix is two lists; a credential is left out only
 * where it is valid.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import {
  Administrator,
  type Answer,
  ask,
  type Gateway,
  ROOT,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';

const METRICS_TOKEN = 'metrics-token-of-the-cross-use-matrix';

const CREDENTIALS = [
  'access token',
  'personal access token',
  'proof for a channel’s key',
  'proof for a passkey registration',
  'API key',
  'refresh token',
  'flow token of a second factor',
  'flow token of a passkey login',
  'flow token of a passkey registration',
  'artifact capability',
  'set-up token',
  'metrics token',
] as const;
type Credential = (typeof CREDENTIALS)[number];

/** What the matrix runs against. */
type Stage = {
  gateway: Gateway;
  /** A gateway that is not set up yet: only there is a set-up token checked. */
  fresh: Gateway;
  vendor: VendorProcess;
  admin: Administrator;
  channel: number;
  /** Path of a task with an artifact. */
  task: string;
  content: string;
  backupCode: string;
  values: Record<Credential, string>;
};

type Place = {
  place: string;
  /** The credentials that are valid there. */
  owners: readonly Credential[];
  present(stage: Stage, value: string): Promise<Answer>;
  /** Status and code of the refusal. */
  refused(value: string, credential: Credential): [status: number, code: string];
};

const SCHEMES = ['Bearer ', ''] as const;
const behind = (scheme: string): string => (scheme === '' ? 'bare in Authorization' : 'behind Bearer');

/** Panel routes of every level. */
const panelPlaces = SCHEMES.flatMap((scheme) => {
  const route = (level: string, path: string, owners: readonly Credential[]): Place => ({
    place: `${behind(scheme)} of ${level} route`,
    owners,
    present: ({ gateway }, value) => ask(`${gateway.url}${path}`, { headers: { authorization: `${scheme}${value}` } }),
    refused: (_value, credential) =>
      credential === 'personal access token' ? [403, 'AUTH_SESSION_REQUIRED'] : [401, 'AUTH_UNAUTHORIZED'],
  });
  return [
    route('a user', '/api/user/self', ['access token', 'personal access token']),
    route('a session', '/api/user/sessions', ['access token']),
    route('an admin', '/api/channel', ['access token', 'personal access token']),
    route('a root', '/api/option', ['access token', 'personal access token']),
  ];
});

const apiKeyPlaces = SCHEMES.flatMap((scheme) => {
  const route = (path: string, find: (stage: Stage) => string, code: string): Place => ({
    place: `${behind(scheme)} of ${path}`,
    owners: ['API key'],
    present: (stage, value) =>
      ask(`${stage.gateway.url}${find(stage)}`, { headers: { authorization: `${scheme}${value}` } }),
    refused: () => [401, code],
  });
  return [
    route('/v1/tasks/:id', ({ task }) => task, 'api_key_invalid'),
    route('an artifact', ({ content }) => content, 'api_key_invalid'),
    route('/api/usage/token', () => '/api/usage/token', 'AUTH_API_KEY_INVALID'),
    route('/api/log/token', () => '/api/log/token', 'AUTH_API_KEY_INVALID'),
  ];
});

/** Token fields have a maximum length; longer values are refused unread. */
const inField = (value: string, code: string, status = 400): [number, string] =>
  value.length > 200 ? [400, 'VALIDATION_FAILED'] : [status, code];

/** A well-formed response of an authenticator that signs nothing valid. */
const credentialWith = (response: object) => ({ id: 'AAAA', rawId: 'AAAA', type: 'public-key', response });
const ASSERTION = credentialWith({ clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA' });
const ATTESTATION = credentialWith({ clientDataJSON: 'e30', attestationObject: 'AAAA' });

const flowPlaces: Place[] = [
  {
    place: 'flow_token of the second step of a sign-in',
    owners: ['flow token of a second factor'],
    present: ({ gateway }, value) =>
      ask(`${gateway.url}/api/user/login/2fa`, { body: { flow_token: value, code: '123456' } }),
    refused: (value) => inField(value, 'AUTH_FLOW_INVALID'),
  },
  {
    place: 'flow_token of a passkey login',
    owners: ['flow token of a passkey login'],
    present: ({ gateway }, value) =>
      ask(`${gateway.url}/api/user/passkey/login/finish`, { body: { flow_token: value, credential: ASSERTION } }),
    refused: (value) => inField(value, 'AUTH_FLOW_INVALID'),
  },
  {
    place: 'flow_token of a passkey registration',
    owners: ['flow token of a passkey registration'],
    present: ({ gateway, admin, values }, value) =>
      ask(`${gateway.url}/api/user/passkey/register/finish`, {
        token: admin.token,
        headers: { 'x-security-proof': values['proof for a passkey registration'] },
        body: { flow_token: value, credential: ATTESTATION },
      }),
    refused: (value) => inField(value, 'AUTH_FLOW_INVALID'),
  },
  {
    place: 'flow_token of a confirmation by passkey',
    owners: [],
    present: ({ gateway, admin }, value) =>
      ask(`${gateway.url}/api/user/passkey/verify/finish`, {
        token: admin.token,
        body: { flow_token: value, credential: ASSERTION },
      }),
    refused: (value) => inField(value, 'AUTH_FLOW_INVALID'),
  },
];

const proofPlace = (place: string, owner: Credential, path: (stage: Stage) => string): Place => ({
  place: `X-Security-Proof of ${place}`,
  owners: [owner],
  present: (stage, value) =>
    ask(`${stage.gateway.url}${path(stage)}`, {
      method: 'POST',
      token: stage.admin.token,
      headers: { 'x-security-proof': value },
    }),
  refused: (_value, credential) => [
    403,
    credential.startsWith('proof') ? 'SECURITY_PROOF_SCOPE_MISMATCH' : 'SECURITY_PROOF_INVALID',
  ],
});

const PLACES: Place[] = [
  ...panelPlaces,
  ...apiKeyPlaces,
  ...flowPlaces,
  proofPlace('a channel’s key', 'proof for a channel’s key', ({ channel }) => `/api/channel/${channel}/key`),
  proofPlace('a passkey registration', 'proof for a passkey registration', () => '/api/user/passkey/register/begin'),
  {
    place: 'refresh cookie',
    owners: ['refresh token'],
    present: ({ gateway }, value) =>
      ask(`${gateway.url}/api/user/auth/refresh`, { method: 'POST', headers: { cookie: `svc_refresh=${value}` } }),
    refused: () => [401, 'AUTH_UNAUTHORIZED'],
  },
  {
    place: 'access of an artifact link',
    owners: ['artifact capability'],
    present: ({ gateway, content }, value) => ask(`${gateway.url}${content}?access=${encodeURIComponent(value)}`),
    refused: () => [404, 'artifact_not_found'],
  },
  {
    place: 'token of the set-up link',
    owners: ['set-up token'],
    present: ({ fresh }, value) => ask(`${fresh.url}/api/setup`, { body: { token: value, ...ROOT } }),
    refused: (value) => inField(value, 'AUTH_SETUP_TOKEN_INVALID', 403),
  },
  {
    place: 'behind Bearer of /metrics',
    owners: ['metrics token'],
    present: ({ gateway }, value) => ask(`${gateway.url}/metrics`, { token: value }),
    refused: () => [401, 'AUTH_UNAUTHORIZED'],
  },
];

/** The published code of a refusal, in either envelope. */
const readCode = ({ body }: Answer): unknown => body.code ?? (body.error as { code?: unknown } | undefined)?.code;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(async () => {
  await Promise.all([stage?.gateway.kill(), stage?.fresh.kill(), stage?.vendor.stop()]);
});

describe('cross-use', () => {
  test('before: every reusable credential works where it belongs', expectGood);

  for (const { place, owners, present, refused } of PLACES) {
    for (const credential of CREDENTIALS) {
      if (owners.includes(credential)) continue;
      test(`${credential} as ${place}`, async () => {
        const value = stage.values[credential];
        const answer = await present(stage, value);
        expect([answer.status, readCode(answer)]).toEqual(refused(value, credential));
        expect(JSON.stringify([answer.body, ...answer.headers])).not.toContain(value);
      });
    }
  }

  for (const credential of CREDENTIALS) {
    const logOut = async (headers: Record<string, string>) => {
      const answer = await ask(`${stage.gateway.url}/api/user/auth/logout`, { method: 'POST', headers });
      expect([answer.status, answer.body.data]).toEqual([200, { revoked_sid: null, cookie_cleared: true }]);
    };
    if (credential !== 'access token')
      test(`${credential} as the bearer of a logout ends nothing`, () =>
        logOut({ authorization: `Bearer ${stage.values[credential]}` }));
    if (credential !== 'refresh token')
      test(`${credential} as the cookie of a logout ends nothing`, () =>
        logOut({ cookie: `svc_refresh=${stage.values[credential]}` }));
  }

  test('after: every credential still works, single-use ones too, and none is in the log', async () => {
    await expectGood();
    await expectUnused();
    const log = stage.gateway.log() + stage.fresh.log().split('\n').slice(1).join('\n');
    for (const credential of CREDENTIALS) {
      expect([credential, log.includes(stage.values[credential])]).toEqual([credential, false]);
    }
  });
});

async function expectGood(): Promise<void> {
  const once: readonly Credential[] = ['refresh token', 'set-up token', ...flowPlaces.flatMap(({ owners }) => owners)];
  for (const { place, owners, present } of PLACES) {
    for (const owner of owners.filter((credential) => !once.includes(credential))) {
      expect([place, owner, (await present(stage, stage.values[owner])).status]).toEqual([place, owner, 200]);
    }
  }
}

async function expectUnused(): Promise<void> {
  const { gateway, fresh, values, backupCode } = stage;
  const refreshed = await ask(`${gateway.url}/api/user/auth/refresh`, {
    method: 'POST',
    headers: { cookie: `svc_refresh=${values['refresh token']}` },
  });
  expect(refreshed.status).toBe(200);
  const signedIn = await ask(`${gateway.url}/api/user/login/2fa`, {
    body: { flow_token: values['flow token of a second factor'], code: backupCode },
  });
  expect(signedIn.status).toBe(200);
  // The passkey flows are found; only the response of the authenticator is invalid.
  const codes = [];
  for (const { owners, present } of flowPlaces.slice(1)) {
    for (const owner of owners) codes.push(readCode(await present(stage, values[owner])));
  }
  expect(codes).toEqual(['AUTH_INVALID_CREDENTIALS', 'AUTH_PASSKEY_INVALID']);
  const made = await ask(`${fresh.url}/api/setup`, { body: { token: values['set-up token'], ...ROOT } });
  expect(made.status).toBe(200);
}

async function openStage(): Promise<Stage> {
  const env = {
    METRICS_TOKEN,
    DEBUG: 'true',
    CRITICAL_RATE_LIMIT: '1000000',
    TASK_ARTIFACT_INVALID_RATE_LIMIT_PER_MINUTE: '1000000',
    TASK_POLL_INTERVAL_SECONDS: '1',
  };
  const [vendor, gateway, fresh] = await Promise.all([startVendor(), startGateway({ env }), startGateway({ env })]);
  const { url } = gateway;
  const first = await setUp(gateway);

  const setup = await first.call<{ secret: string; backup_codes: string[] }>('POST', '/api/user/2fa/setup');
  const code = new TOTP({ secret: setup.secret }).generate();
  const enabled = await first.call<{ access_token: string }>('POST', '/api/user/2fa/enable', { code });
  const admin = new Administrator(url, enabled.access_token);
  const [keyCode, registerCode, loginCode, spareCode] = setup.backup_codes;
  const prove = async (scope: string, backupCode = '') =>
    (await admin.call<{ proof_token: string }>('POST', '/api/verify', { method: '2fa', code: backupCode, scope }))
      .proof_token;
  const registerProof = await prove('passkey.register', registerCode);

  const begin = async (path: string, init: Parameters<typeof ask>[1] = {}) => {
    const answer = await ask(`${url}${path}`, { method: 'POST', ...init });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return (answer.body.data as { flow_token: string }).flow_token;
  };
  const loggedIn = await ask(`${url}/api/user/login/2fa`, {
    body: { flow_token: await begin('/api/user/login', { body: ROOT }), code: loginCode },
  });

  const key = await admin.createKey();
  const channel = await admin.createChannel(vendor.url);
  const id = String((await submit(url, key, { prompt: 'a cat [duration=0]' })).body.id);
  await waitForEnd(url, key, id);
  const listed = await ask(`${url}/v1/tasks/${id}/artifacts`, { token: key });
  const [artifact] = listed.body.artifacts as { content_url: string }[];
  const link = new URL(artifact?.content_url ?? '');

  return {
    vendor,
    gateway,
    fresh,
    admin,
    channel,
    task: `/v1/tasks/${id}`,
    content: link.pathname,
    backupCode: spareCode ?? '',
    values: {
      'access token': admin.token,
      'personal access token': (await admin.call<{ token: string }>('POST', '/api/user/token')).token,
      'proof for a channel’s key': await prove('channel.key.read', keyCode),
      'proof for a passkey registration': registerProof,
      'API key': key,
      'refresh token': readRefreshToken(loggedIn),
      'flow token of a second factor': await begin('/api/user/login', { body: ROOT }),
      'flow token of a passkey login': await begin('/api/user/passkey/login/begin'),
      'flow token of a passkey registration': await begin('/api/user/passkey/register/begin', {
        token: admin.token,
        headers: { 'x-security-proof': registerProof },
      }),
      'artifact capability': link.searchParams.get('access') ?? '',
      'set-up token': new URL(fresh.setupUrl ?? '').hash.replace('#token=', ''),
      'metrics token': METRICS_TOKEN,
    },
  };
}

function readRefreshToken({ headers }: Answer): string {
  const cookie = headers.getSetCookie().find((set) => set.startsWith('svc_refresh_'));
  return /^svc_refresh_\w{6}=([^;]+)/.exec(cookie ?? '')?.[1] ?? '';
}
