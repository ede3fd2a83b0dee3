import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { systemClock } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import {
  ALICE,
  CLIENT,
  type IdentityProvider,
  startIdentityProvider,
  type TokenChange,
} from '../support/identity-provider.ts';
import { openTestStore } from './harness.ts';
import { goThere, logInAt, openNode, present } from './oauth-harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

describe('OpenID Connect', () => {
  let idp: IdentityProvider;
  let store: Store;
  let stop: () => Promise<void>;
  let clock: TestClock;
  let auth: Auth;

  beforeAll(async () => {
    idp = await startIdentityProvider();
    ({ store, stop } = await openTestStore('sqlite'));
  });
  afterAll(async () => {
    await stop();
    await idp.stop();
  });
  beforeEach(() => {
    idp.reset();
    clock = createTestClock();
    auth = openNode(store, idp, { clock });
  });

  const asked = (end: string) => idp.requests.filter((line) => line.endsWith(end)).length;

  describe('an ID token is refused with', () => {
    const wrong: [string, () => TokenChange][] = [
      ['ASVS 10.5.4: another audience', () => ({ claims: { aud: 'another client' } })],
      ['ASVS 10.5.4: several audiences and no authorized party', () => ({ claims: { aud: [CLIENT.id, 'another'] } })],
      ['ASVS 10.5.4: another authorized party', () => ({ claims: { aud: [CLIENT.id, 'another'], azp: 'another' } })],
      ['no audience', () => ({ claims: { aud: undefined } })],
      ['another issuer', () => ({ claims: { iss: 'https://evil.example' } })],
      ['no issuer', () => ({ claims: { iss: undefined } })],
      ['ASVS 10.5.1: another nonce: a replayed token', () => ({ claims: { nonce: 'A'.repeat(43) } })],
      ['ASVS 10.5.1: no nonce', () => ({ claims: { nonce: undefined } })],
      ['an end in the past', () => ({ claims: { exp: systemClock.unix() - 120 } })],
      ['no end', () => ({ claims: { exp: undefined } })],
      ['a beginning in the future', () => ({ claims: { nbf: systemClock.unix() + 600 } })],
      ['no subject', () => ({ claims: { sub: undefined } })],
      ['an empty subject', () => ({ claims: { sub: '' } })],
      ['a subject that is too long to keep', () => ({ claims: { sub: 'x'.repeat(129) } })],
      ['no signature: alg none', () => ({ sign: 'none' })],
      ['algorithm confusion: HS256 with the public key', () => ({ sign: 'hs256-public-key' })],
      ['algorithm confusion: HS256 with the client secret', () => ({ sign: 'hs256-secret' })],
      ['a signature by a key of somebody else', () => ({ sign: 'foreign-key' })],
      ['nothing: there is none', () => ({ leaveOut: true })],
    ];
    test.each(wrong)('%s', async (_name, change) => {
      const before = (await store.users.search({}, { page: 1, pageSize: 1 })).total;
      const { query } = await goThere(auth, idp, { provider: 'oidc' });
      idp.state.token = change();
      const error = await refusal(present(auth, 'oidc', { query }), 'auth.provider_failed');
      expect(error.message).not.toContain(CLIENT.secret);
      expect((await store.users.search({}, { page: 1, pageSize: 1 })).total).toBe(before);
      // The flow is unused: with an honest provider it still leads to a session.
      idp.state.token = {};
    });
  });

  test('two audiences with us as the authorized party', async () => {
    idp.state.token = { claims: { aud: [CLIENT.id], azp: CLIENT.id } };
    await logInAt(auth, idp, { provider: 'oidc' });
  });

  const unused: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['an empty refresh token', { refresh_token: '' }, {}],
    ['a refresh token that is not text', { refresh_token: null }, {}],
    ['no scope', { scope: null }, {}],
    ['scopes as a list', { scope: ['openid'] }, {}],
    ['no type of token', { token_type: undefined }, {}],
    ['an empty type of token', { token_type: '' }, {}],
    ['the type of token as null', { token_type: null }, {}],
    ['no lifetime', { expires_in: null }, {}],
    ['a lifetime in words', { expires_in: 'soon' }, {}],
    ['a lifetime below zero', { expires_in: -1 }, {}],
    ['an error that is null', { error: null, error_description: null }, {}],
    ['no time of the sign-in', {}, { auth_time: null }],
    ['no begin of its validity', {}, { nbf: null }],
    ['a time of the sign-in as text', {}, { auth_time: 'yesterday' }],
    ['other claims as null', {}, { azp: null, amr: null, acr: null, at_hash: null, jti: null, sid: null, email: null }],
  ];
  test.each(unused)('an answer with %s signs in: nothing depends on it', async (_name, answer, claims) => {
    idp.state.answer = answer;
    idp.state.token = { claims };
    await logInAt(auth, idp, { provider: 'oidc' });
  });

  test('a document with an address that is empty or null signs in: there is none', async () => {
    for (const userinfo_endpoint of ['', null]) {
      idp.state.document = { userinfo_endpoint };
      clock.advance(3601);
      await logInAt(auth, idp, { provider: 'oidc' });
    }
  });

  test.each([
    ['DPoP', { token_type: 'DPoP' }],
    ['no access token', { access_token: '' }],
    ['an error', { error: 'invalid_grant' }],
    ['an ID token that is not text', { id_token: { sub: 'x' } }],
  ])('an answer with %s is still refused', async (_name, answer) => {
    const { query } = await goThere(auth, idp, { provider: 'oidc' });
    idp.state.answer = answer;
    await refusal(present(auth, 'oidc', { query }), 'auth.provider_failed');
  });

  test('client_secret_post is taken where both are listed and Basic is refused, and only there', async () => {
    idp.state.refusesBasic = true;
    idp.state.document = { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] };
    clock.advance(3601);
    await logInAt(auth, idp, { provider: 'oidc' });
    expect(asked('/oidc/token')).toBe(2);
    idp.state.document = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
    clock.advance(3601);
    const { query } = await goThere(auth, idp, { provider: 'oidc' });
    const error = await refusal(present(auth, 'oidc', { query }), 'auth.provider_failed');
    expect(error.message).toContain('invalid_client');
    expect(asked('/oidc/token')).toBe(3);
  });

  test('token substitution: a profile of another subject is refused', async () => {
    const { query } = await goThere(auth, idp, { provider: 'oidc' });
    idp.state.profileSubject = 'somebody else';
    await refusal(present(auth, 'oidc', { query }), 'auth.provider_failed');
  });

  test('address squatting: an ID token’s verified address does not verify another one in the profile', async () => {
    const person = { ...ALICE, id: 'squatter', login: 'squatter', email: 'squatter@example.org' };
    idp.state.person = person;
    idp.state.token = { claims: { email: person.email, email_verified: true } };
    idp.state.profile = { email: 'victim@example.org', email_verified: undefined };
    const { user } = (await logInAt(auth, idp, { provider: 'oidc' })).bundle;
    expect(user.email).toBe(person.email);
    expect(await store.identities.owner('email', 'victim@example.org')).toBeUndefined();
  });

  test('the provider may change its keys and their type between two logins', async () => {
    await logInAt(auth, idp, { provider: 'oidc' });
    for (const alg of ['ES256', 'RS256', 'RS256'] as const) {
      await idp.rotate(alg);
      await logInAt(auth, idp, { provider: 'oidc' });
    }
    expect(asked('openid-configuration')).toBe(1);
  });

  test('the provider may change its keys between redirect and return', async () => {
    const { query } = await goThere(auth, idp, { provider: 'oidc' });
    await idp.rotate('ES256');
    expect((await present(auth, 'oidc', { query })).action).toBe('login');
    await idp.rotate('RS256');
  });

  test('the discovery document is read once an hour, and again after a failure', async () => {
    await logInAt(auth, idp, { provider: 'oidc' });
    await logInAt(auth, idp, { provider: 'oidc' });
    expect(asked('openid-configuration')).toBe(1);
    clock.advance(3601);
    await logInAt(auth, idp, { provider: 'oidc' });
    expect(asked('openid-configuration')).toBe(2);
    const { query } = await goThere(auth, idp, { provider: 'oidc' });
    idp.faults.set('/jwks', 500);
    await refusal(present(auth, 'oidc', { query }), 'auth.provider_failed');
    idp.faults.clear();
    await logInAt(auth, idp, { provider: 'oidc' });
    expect(asked('openid-configuration')).toBe(3);
  });

  test('a broken document affects this provider only, and only while it is broken', async () => {
    for (const fault of ['garbage', 'huge', 404, 500, 302] as const) {
      idp.faults.set('openid-configuration', fault);
      await refusal(goThere(auth, idp, { provider: 'oidc' }), 'auth.provider_failed');
      await logInAt(auth, idp, { provider: 'github' });
      idp.faults.clear();
    }
    for (const document of [
      { issuer: 'https://evil.example' },
      { issuer: `${idp.base}/other` },
      { issuer: 7 },
      { token_endpoint: 'javascript:alert(1)' },
      { token_endpoint: undefined },
      { jwks_uri: null },
      { authorization_endpoint: 'nowhere' },
    ]) {
      idp.state.document = document;
      await refusal(goThere(auth, idp, { provider: 'oidc' }), 'auth.provider_failed');
    }
    idp.state.document = {};
    await logInAt(auth, idp, { provider: 'oidc' });
  });

  test('SSRF: a document leads to no private address that no administrator entered', async () => {
    const other = await startIdentityProvider();
    try {
      idp.state.document = { token_endpoint: `${other.issuer}/token` };
      const { query } = await goThere(auth, idp, { provider: 'oidc' });
      await refusal(present(auth, 'oidc', { query }), 'auth.provider_failed');
      expect(other.requests).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  test('endpoints that an administrator set override those of the document', async () => {
    idp.state.document = { token_endpoint: `${idp.base}/nowhere`, userinfo_endpoint: `${idp.base}/nowhere` };
    const { oidc } = idp.settings();
    const own = { ...oidc, tokenEndpoint: `${idp.issuer}/token`, userInfoEndpoint: `${idp.issuer}/userinfo` };
    await logInAt(openNode(store, idp, { change: { providers: { oidc: own } } }), idp, { provider: 'oidc' });
  });

  test('a provider without a user info endpoint, and one that accepts the secret only in the form', async () => {
    idp.state.document = { userinfo_endpoint: undefined };
    idp.state.person = { ...ALICE, id: 'no-profile' };
    const { user } = (await logInAt(auth, idp, { provider: 'oidc' })).bundle;
    expect(user.username).toMatch(/^oidc_/);
    expect(user.email).toBeNull();
    idp.state.document = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
    const { query } = await goThere(openNode(store, idp), idp, { provider: 'oidc' });
    await refusal(present(openNode(store, idp), 'oidc', { query }), 'auth.provider_failed');
    expect(idp.complaints).toEqual(['oidc: client']);
  });
});
