import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { NewOAuthProvider } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

const newProvider = (change: Partial<NewOAuthProvider> = {}): NewOAuthProvider => ({
  slug: `p-${randomAlnum(12).toLowerCase()}`,
  name: 'Société “ü”',
  icon: 'key',
  enabled: true,
  clientId: 'client',
  clientSecretSealed: 'sealed',
  authorizationEndpoint: 'https://id.example.org/authorize',
  tokenEndpoint: 'https://id.example.org/token',
  userInfoEndpoint: 'https://id.example.org/me',
  wellKnown: '',
  scopes: 'openid profile',
  userIdField: 'sub',
  usernameField: 'profile.name',
  displayNameField: 'name',
  emailField: 'email',
  authStyle: 2,
  accessPolicy: '{"logic":"and"}',
  accessDeniedMessage: 'Not you.',
  createdAt: 100,
  updatedAt: 100,
  ...change,
});

describeEachStore('custom providers', (opened) => {
  test('a provider is read as stored, by slug and in the list', async () => {
    const { providers } = opened().store;
    const input = newProvider();
    const provider = await providers.insert(input);
    expect(provider).toEqual({ ...input, id: provider?.id ?? 0 });
    expect(await providers.bySlug(input.slug)).toEqual(provider);
    expect(await providers.bySlug(input.slug.toUpperCase())).toBeUndefined();
    const later = await providers.insert(newProvider({ enabled: false }));
    const ids = (await providers.all()).map(({ id }) => id);
    expect(ids.slice(-2)).toEqual([provider?.id ?? 0, later?.id ?? 0]);
  });

  test('of 20 providers created concurrently with one slug, one is stored', async () => {
    const { providers } = opened().store;
    const { slug } = newProvider();
    const made = await Promise.all(Array.from({ length: 20 }, () => providers.insert(newProvider({ slug }))));
    expect(made.filter((provider) => provider !== undefined)).toHaveLength(1);
  });

  test('a change writes only the fields that it names', async () => {
    const { providers } = opened().store;
    const provider = await providers.insert(newProvider());
    const id = provider?.id ?? 0;
    const change = { enabled: false, authStyle: 0, clientSecretSealed: '', updatedAt: 200 } as const;
    expect(await providers.update(id, change)).toEqual({ ...newProvider(), ...provider, ...change, id });
    expect(await providers.update(id, {})).toMatchObject(change);
    expect(await providers.update(999_999, change)).toBeUndefined();
    expect(await providers.update(999_999, {})).toBeUndefined();
  });

  test('the second of two concurrent changes of a locked provider sees what the first has written', async () => {
    const { store } = opened();
    const id = (await store.providers.insert(newProvider({ name: '' })))?.id ?? 0;
    const append = (letter: string) =>
      store.transaction(async (tx) => {
        const held = await tx.providers.lock(id);
        await tx.providers.update(id, { name: `${held?.name}${letter}` });
      });
    await Promise.all([...'abcdef'].map(append));
    expect([...((await store.providers.all()).find((provider) => provider.id === id)?.name ?? '')].sort()).toEqual([
      ...'abcdef',
    ]);
    expect(await store.transaction((tx) => tx.providers.lock(999_999))).toBeUndefined();
  });

  test('a provider can be deleted once nobody has an identity of it', async () => {
    const { providers, identities } = opened().store;
    const user = await addUser(opened().store);
    const [used, unused] = [await providers.insert(newProvider()), await providers.insert(newProvider())];
    await identities.claim({ provider: used?.slug ?? '', subject: 's', userId: user.id, createdAt: 1 });
    expect(await providers.delete(used?.id ?? 0)).toBe(false);
    expect(await providers.delete(unused?.id ?? 0)).toBe(true);
    expect(await providers.delete(unused?.id ?? 0)).toBe(false);
    await identities.releaseAll(user.id);
    expect(await providers.delete(used?.id ?? 0)).toBe(true);
    expect(await providers.bySlug(used?.slug ?? '')).toBeUndefined();
  });
});
