import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { ALICE, CLIENT, type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { bearer, openTestStore } from './harness.ts';
import { bindAt, goThere, logInAt, openNode, present, signedIn } from './oauth-harness.ts';
import { refusal } from './refusal.ts';

describe('providers that root adds', () => {
  let idp: IdentityProvider;
  let store: Store;
  let stop: () => Promise<void>;
  let auth: Auth;
  let count = 0;

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
    auth = openNode(store, idp);
    count += 1;
    idp.state.person = {
      ...ALICE,
      id: String(9000 + count),
      login: `carol-${count}`,
      email: `carol-${count}@example.org`,
    };
  });

  type Fields = Parameters<Auth['oauth']['providers']['create']>[0];
  const fields = (change: Partial<Fields> = {}): Fields => ({
    slug: `acme-${count}`,
    name: 'Acme',
    ...idp.addedProvider(),
    ...change,
  });
  const add = (change: Partial<Fields> = {}) => auth.oauth.providers.create(fields(change));

  test('the secret is written and never shown; empty and *** keep it', async () => {
    const made = await add();
    expect(made.client_secret).toBe('***');
    for (const secret of ['', '***', undefined]) {
      const { after } = await auth.oauth.providers.update(made.id, { name: 'Acme 2', client_secret: secret });
      expect(after).toMatchObject({ name: 'Acme 2', client_secret: '***', slug: made.slug });
    }
    expect(JSON.stringify(await auth.oauth.providers.list())).not.toContain(CLIENT.secret);
    const record = await store.providers.bySlug(made.slug);
    expect(record?.clientSecretSealed).toMatch(/^v1\./);
    await logInAt(auth, idp, { provider: made.slug });
    await auth.oauth.providers.update(made.id, { client_secret: 'another' });
    const { query } = await goThere(auth, idp, { provider: made.slug });
    await refusal(present(auth, made.slug, { query }), 'auth.provider_failed');
    expect(idp.complaints).toEqual(['custom: client']);
  });

  test('after a change of CRYPTO_SECRET the provider reports it, is not offered, and works when the secret is entered again', async () => {
    const { id, slug } = await add();
    const rotated = openNode(store, idp, {
      config: { cryptoSecrets: ['another crypto secret, long enough to be one'] },
    });
    expect(await rotated.oauth.providers.get(id)).toMatchObject({ client_secret: '***', secret_unreadable: true });
    expect((await rotated.oauth.providers.listPublic()).map((provider) => provider.slug)).not.toContain(slug);
    const { query } = await goThere(rotated, idp, { provider: slug });
    await refusal(present(rotated, slug, { query }), 'auth.provider_failed');
    await rotated.oauth.providers.update(id, { client_secret: CLIENT.secret });
    expect((await logInAt(rotated, idp, { provider: slug })).kind).toBe('session');
  });

  test('invalid fields', async () => {
    const wrong: [string, Partial<Fields>][] = [
      ['slug', { slug: 'github' }],
      ['slug', { slug: 'Big' }],
      ['slug', { slug: '' }],
      ['slug', { slug: 'state' }],
      ['slug', { slug: 'x'.repeat(27) }],
      ['slug', { slug: '../evil' }],
      ['name', { name: ' ' }],
      ['name', { name: 'x'.repeat(65) }],
      ['client_id', { client_id: '' }],
      ['user_id_field', { user_id_field: '' }],
      ['token_endpoint', { token_endpoint: '' }],
      ['token_endpoint', { token_endpoint: 'ftp://files.example' }],
      ['token_endpoint', { token_endpoint: 'https://user:pass@idp.example/token' }],
      ['authorization_endpoint', { authorization_endpoint: 'javascript:alert(1)' }],
      ['well_known', { well_known: 'nowhere' }],
      ['client_secret', { client_secret: 'x'.repeat(513) }],
      ['access_policy', { access_policy: '{' }],
      ['access_policy', { access_policy: '{"conditions":[{"field":"a","op":"like","value":1}]}' }],
      ['access_policy', { access_policy: '{"conditions":[{"field":"a","op":"in","value":1}]}' }],
      ['access_policy', { access_policy: '{"conditions":[{"field":"a","op":"gt","value":"x"}]}' }],
      ['access_policy', { access_policy: '{"logic":"xor"}' }],
      ['access_policy', { access_policy: '{"rules":[]}' }],
      ['access_policy', { access_policy: '['.repeat(300) }],
    ];
    for (const [field, change] of wrong) {
      const error = await refusal(add(change), 'auth.validation_failed');
      expect([error.param, JSON.stringify(change)]).toEqual([field, JSON.stringify(change)]);
    }
    await add();
    await refusal(add(), 'auth.provider_exists');
    await refusal(auth.oauth.providers.get(999_999), 'auth.provider_not_found');
    await refusal(auth.oauth.providers.update(999_999, {}), 'auth.provider_not_found');
    await refusal(auth.oauth.providers.delete(999_999), 'auth.provider_not_found');
  });

  test('cannot be deleted while identities are bound to it', async () => {
    const { id, slug } = await add();
    const caller = await signedIn(auth, store);
    await bindAt(auth, idp, { provider: slug, caller });
    expect(await auth.oauth.bindings.list(await caller.principal())).toMatchObject([
      { provider_id: id, provider_slug: slug, provider_name: 'Acme' },
    ]);
    await refusal(auth.oauth.providers.delete(id), 'auth.provider_in_use');
    expect(await auth.oauth.providers.get(id)).toMatchObject({ identities: 1 });
    expect(await auth.oauth.providers.list()).toContainEqual(expect.objectContaining({ id, identities: 1 }));
    await auth.oauth.bindings.unbind(await caller.principal(), slug);
    expect((await auth.oauth.providers.delete(id)).slug).toBe(slug);
    await refusal(goThere(auth, idp, { provider: slug }), 'auth.method_disabled');
  });

  test('account takeover: bound identities are not handed to another provider unless root forces it', async () => {
    const { id, slug } = await add();
    const update = (change: Parameters<Auth['oauth']['providers']['update']>[1]) =>
      auth.oauth.providers.update(id, { client_secret: CLIENT.secret, ...change });
    const elsewhere = { user_info_endpoint: 'https://evil.example/me' };
    // While no identity is bound, the provider is still being set up.
    await update(elsewhere);
    await update({ user_info_endpoint: fields().user_info_endpoint });
    const caller = await signedIn(auth, store);
    await bindAt(auth, idp, { provider: slug, caller });
    for (const change of [
      elsewhere,
      { token_endpoint: 'https://evil.example/token' },
      { authorization_endpoint: 'https://evil.example/authorize' },
      { well_known: idp.wellKnown },
      { user_id_field: 'data.user.login' },
    ] as Partial<Fields>[]) {
      const error = await refusal(update(change), 'auth.provider_in_use');
      expect([error.param, error.details]).toEqual([
        Object.keys(change)[0],
        { field: Object.keys(change)[0], identities: 1 },
      ]);
      expect(error.message).toStartWith('1 identity is bound');
    }
    const { after } = await update({ name: 'Renamed', scopes: 'openid', client_secret: CLIENT.secret });
    expect(after).toMatchObject({ name: 'Renamed', user_info_endpoint: fields().user_info_endpoint });
    expect((await update({ ...elsewhere, force: true })).after).toMatchObject(elsewhere);
  });

  test('exfiltration: the stored secret is sent only to the address that it was entered for', async () => {
    const { id } = await add();
    const update = (change: Parameters<Auth['oauth']['providers']['update']>[1]) =>
      auth.oauth.providers.update(id, change);
    for (const change of [
      { token_endpoint: 'https://evil.example/token' },
      { token_endpoint: `${idp.base.replace('http:', 'https:')}/custom/token`, client_secret: '***' },
      // Another path of a shared host, and the receiver of the access token that the secret yields.
      { token_endpoint: `${idp.base}/custom/token2` },
      { user_info_endpoint: 'https://evil.example/me', force: true },
      { token_endpoint: '', well_known: 'https://evil.example/.well-known/openid-configuration', force: true },
    ]) {
      expect((await refusal(update(change), 'auth.validation_failed')).param).toBe('client_secret');
    }
    await update({ token_endpoint: 'https://moved.example/token', client_secret: 'entered again' });
  });

  test('lost update: several concurrent changes all stay', async () => {
    const { id } = await add();
    const changes = [{ name: 'Another' }, { scopes: 'openid' }, { icon: 'key' }, { email_field: 'mail' }];
    await Promise.all(changes.map((change) => auth.oauth.providers.update(id, change)));
    expect(await auth.oauth.providers.get(id)).toMatchObject(Object.assign({}, ...changes));
  });

  test('lock-out: root’s last way to sign in cannot be switched off while passwords are off', async () => {
    const { id, slug } = await add();
    const root = await addUser(store, { role: 100 });
    await store.identities.claim({ provider: slug, subject: 'root', userId: root.id, createdAt: 1 });
    const noPasswords = openNode(store, idp, {
      change: { passwordLogin: false, providers: { github: undefined, oidc: undefined } },
    });
    const off = { enabled: false };
    expect((await refusal(noPasswords.oauth.providers.update(id, off), 'auth.last_way_in')).message).toContain('Root');
    expect((await auth.oauth.providers.get(id)).enabled).toBe(true);
    await noPasswords.oauth.providers.update(id, { name: 'Renamed' });
    await store.identities.claim({ provider: 'discord', subject: 'root', userId: root.id, createdAt: 1 });
    expect((await noPasswords.oauth.providers.update(id, off)).after.enabled).toBe(false);
    await store.identities.releaseAll(root.id);
  });

  test('lock-out: a provider whose secret cannot be read is no way to sign in', async () => {
    const { id, slug } = await add();
    const login = await logInAt(auth, idp, { provider: slug });
    const caller = await auth.authenticatePanel(bearer(login));
    await store.identities.claim({ provider: 'discord', subject: 'left', userId: caller.user.id, createdAt: 1 });
    await store.providers.update(id, { clientSecretSealed: 'sealed under a former secret', updatedAt: 2 });
    await refusal(auth.oauth.bindings.unbind(caller, 'discord'), 'auth.last_way_in');
    await auth.oauth.providers.update(id, { client_secret: 'entered again' });
    await auth.oauth.bindings.unbind(caller, 'discord');
  });

  test('an address is verified only by the same object that contains it', async () => {
    const readEmail = async (field: string, profile: Record<string, unknown>) => {
      const { id, slug } = await add({ slug: `mail-${count}`, email_field: field });
      const user = { id: 5000 + id, login: `m-${id}` };
      const nested = profile.data as object | undefined;
      idp.state.profile = { email_verified: undefined, mail: undefined, ...profile, data: { user, ...nested } };
      const { email } = (await logInAt(auth, idp, { provider: slug })).bundle.user;
      count += 1;
      return email;
    };
    const mine = () => `mine-${count}@example.org`;
    for (const [field, profile, taken] of [
      ['email', { email: mine(), email_verified: true }, true],
      ['mail', { mail: mine(), verified_email: true }, true],
      ['data.email', { data: { email: mine(), email_verified: true } }, true],
      ['data.mails.0.email', { data: { mails: [{ email: mine(), email_verified: true }] } }, true],
      // Another address is verified: that of the profile, or the one called `email`.
      ['data.email', { email_verified: true, data: { email: mine() } }, false],
      ['contact', { email: 'other@example.org', email_verified: true, contact: mine() }, false],
      ['email', { email: mine(), data: { email_verified: true } }, false],
    ] as [string, Record<string, unknown>, boolean][]) {
      const email = await readEmail(field, profile);
      expect([field, email !== null && email !== '']).toEqual([field, taken]);
      await store.identities
        .owner('email', email ?? '')
        .then((owner) => owner && store.identities.releaseAll(owner.userId));
    }
  });

  test('Basic authentication, and answers as a form', async () => {
    const { slug } = await add({ auth_style: 2 });
    idp.state.customProof = 'basic';
    idp.state.formAnswers = true;
    await logInAt(auth, idp, { provider: slug });
    expect(idp.complaints).toEqual([]);
  });

  test('endpoints and client authentication from the discovery document', async () => {
    const { slug } = await add({
      authorization_endpoint: '',
      token_endpoint: '',
      user_info_endpoint: '',
      well_known: idp.wellKnown,
      user_id_field: 'sub',
      username_field: 'preferred_username',
    });
    idp.state.document = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
    expect((await logInAt(auth, idp, { provider: slug })).bundle.user.email).toBe(idp.state.person.email);
    const { query } = await goThere(auth, idp, { provider: slug });
    await refusal(present(auth, slug, { query: { ...query, iss: 'https://evil.example' } }), 'auth.provider_failed');
  });

  test('a test reads the document and redeems an invented code, with the stored secret', async () => {
    const steps = async (change: Partial<Fields>, secret?: string) => {
      count += 1;
      const { id } = await add({ ...change, ...(secret === undefined ? {} : { client_secret: secret }) });
      const trial = await auth.oauth.providers.test(id);
      return [trial.ok, ...trial.steps.map(({ name, ok }) => `${name} ${ok}`)];
    };
    const endpoints = { authorization_endpoint: '', token_endpoint: '', user_info_endpoint: '' };
    const discovered = { ...endpoints, well_known: idp.wellKnown };
    expect(await steps({})).toEqual([true, 'client true']);
    expect(await steps({ enabled: false })).toEqual([true, 'client true']);
    expect(await steps({}, 'another secret')).toEqual([false, 'client false']);
    expect(await steps({ token_endpoint: `${idp.issuer}/nowhere` })).toEqual([false, 'client false']);
    idp.state.document = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
    expect(await steps(discovered)).toEqual([true, 'discovery true', 'client true']);
    expect(await steps({ ...discovered, well_known: `${idp.issuer}/nowhere` })).toEqual([false, 'discovery false']);
    await refusal(auth.oauth.providers.test(0), 'auth.provider_not_found');
  });

  test('a provider that is off is not offered', async () => {
    const { id, slug } = await add();
    expect(await auth.oauth.providers.listPublic()).toContainEqual({
      id,
      slug,
      name: 'Acme',
      icon: '',
      client_id: CLIENT.id,
      authorization_endpoint: `${idp.base}/custom/authorize`,
      scopes: 'openid profile email',
    });
    await auth.oauth.providers.update(id, { enabled: false });
    expect((await auth.oauth.providers.listPublic()).some((provider) => provider.slug === slug)).toBe(false);
    await refusal(goThere(auth, idp, { provider: slug }), 'auth.method_disabled');
  });

  test('a profile without an id of the person, or with one that the database could not tell apart', async () => {
    const { slug } = await add();
    for (const id of [undefined, null, '', {}, 1.5, 2 ** 53, 'a\nb', 'a\ud800', ' ']) {
      idp.state.profile = { data: { user: { id } } };
      const { query } = await goThere(auth, idp, { provider: slug });
      await refusal(present(auth, slug, { query }), 'auth.provider_failed');
    }
  });

  describe('access policy', () => {
    const readOutcome = async (policy: object, profile: Record<string, unknown>, message = '') => {
      count += 1;
      const { slug } = await add({ access_policy: JSON.stringify(policy), access_denied_message: message });
      idp.state.profile = profile;
      const { query } = await goThere(auth, idp, { provider: slug });
      return present(auth, slug, { query }).then(
        () => 'admitted',
        (error: { code: string; message: string }) => {
          if (error.code !== 'auth.access_denied') throw error;
          return error.message;
        },
      );
    };
    const one = (field: string, op: string, value?: unknown) => ({ conditions: [{ field, op, value }] });

    const table: [op: string, value: unknown, level: unknown, admitted: boolean][] = [
      ['eq', 3, 3, true],
      ['eq', 3, '3', true],
      ['eq', 3, 4, false],
      ['eq', true, 'true', false],
      ['ne', 3, 3, false],
      ['ne', 3, undefined, true],
      ['gt', 2, 3, true],
      ['gt', 3, 3, false],
      ['gte', 3, 3, true],
      ['lt', 3, 2, true],
      ['lte', 3, '3', true],
      ['lt', 3, undefined, false],
      ['lt', 3, 'many', false],
      ['in', ['a', 'b'], 'b', true],
      ['in', ['a', 'b'], 'c', false],
      ['not_in', ['a'], 'c', true],
      ['contains', 'staff', ['staff', 'dev'], true],
      ['contains', 'staff', ['dev'], false],
      ['contains', 'aff', 'staff', true],
      ['not_contains', 'banned', ['dev'], true],
      ['not_contains', 'banned', ['banned'], false],
      ['exists', undefined, 0, true],
      ['exists', undefined, null, false],
      ['not_exists', undefined, undefined, true],
      ['not_exists', undefined, 'x', false],
    ];
    test.each(table)('%s %p, where it is %p: %p', async (op, value, level, admitted) => {
      expect((await readOutcome(one('org.level', op, value), { org: { level } })) === 'admitted').toBe(admitted);
    });

    test('groups, and either of two', async () => {
      const policy = {
        logic: 'or',
        conditions: [{ field: 'admin', op: 'eq', value: true }],
        groups: [
          {
            logic: 'and',
            conditions: [one('level', 'gte', 2), one('active', 'eq', true)].flatMap((each) => each.conditions),
          },
        ],
      };
      expect(await readOutcome(policy, { admin: true })).toBe('admitted');
      expect(await readOutcome(policy, { level: 2, active: true })).toBe('admitted');
      expect(await readOutcome(policy, { level: 2, active: false })).not.toBe('admitted');
    });

    test("the administrator's message, with the expected and the found value", async () => {
      const message =
        '{{provider}}: {{field}} {{op}} {{required}}, not {{current}}; {{current.org.name}}/{{required.level}} {{other}}';
      expect(await readOutcome(one('level', 'gte', 3), { level: 1, org: { name: 'Dev' } }, message)).toBe(
        'Acme: level gte 3, not 1; Dev/3 {{other}}',
      );
      const nasty = { level: `${'x'.repeat(5000)}\u0000` };
      expect((await readOutcome(one('level', 'eq', 3), nasty, '{{current}}{{current}}')).length).toBeLessThan(300);
    });
  });

  test('discovery for the form accepts issuer and document addresses, and refuses broken ones', async () => {
    const found = await auth.oauth.providers.discover({ issuer_url: idp.issuer });
    expect(found).toMatchObject({
      well_known: idp.wellKnown,
      issuer: idp.issuer,
      token_endpoint: `${idp.issuer}/token`,
    });
    expect(await auth.oauth.providers.discover({ well_known_url: idp.wellKnown })).toEqual(found);
    await refusal(auth.oauth.providers.discover({}), 'auth.validation_failed');
    await refusal(auth.oauth.providers.discover({ issuer_url: 'nowhere' }), 'auth.validation_failed');
    await refusal(auth.oauth.providers.discover({ issuer_url: `${idp.base}/nothing` }), 'auth.provider_failed');
  });
});
