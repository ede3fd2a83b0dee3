import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth, PanelPrincipal } from '../../src/auth/index.ts';
import { DEFAULT_FIELDS, validateProvider } from '../../src/auth/oauth/validate-provider.ts';
import { validatePasskeyName } from '../../src/auth/passkeys/manage-passkeys.ts';
import { AppError, newUuid } from '../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { bearer, openAuth, openTestStore, signIn } from './harness.ts';
import { refusal } from './refusal.ts';

/** Shown as "tooR", and as "Root". */
const TURNED = 'R\u202etoo';
const INVISIBLE = 'Root\u200b';
const asSession = (user: UserRecord): PanelPrincipal => ({ kind: 'session', user, sid: newUuid(), sessionVersion: 1 });

describe('a misleading name is refused by its field, and a stored one may stay', () => {
  let store: Store;
  let stop: () => Promise<void>;
  let auth: Auth;
  beforeAll(async () => {
    ({ store, stop } = await openTestStore('sqlite'));
    auth = openAuth(store);
  });
  afterAll(() => stop());

  const refusedParam = async (work: Promise<unknown>) => (await refusal(work, 'auth.validation_failed')).param;

  test.each([TURNED, INVISIBLE, 'Ro\not', 'Root\u200d'])('%p', async (name) => {
    const user = await addUser(store);
    const principal = asSession(user);
    const root = asSession(await addUser(store, { role: 100 }));
    expect(await refusedParam(auth.apiKeys.create(principal, { name }))).toBe('name');
    const caller = await auth.authenticatePanel(bearer(await signIn(auth, user)));
    expect(await refusedParam(auth.account.edit(caller, { display_name: name }))).toBe('display_name');
    for (const field of ['display_name', 'group']) {
      expect(await refusedParam(auth.administration.edit(root, user.id, { [field]: name }))).toBe(field);
    }
    const remark = name.replace('\n', '\u2067');
    expect(await refusedParam(auth.administration.edit(root, user.id, { remark }))).toBe('remark');
    for (const validate of [validatePasskeyName, (text: string) => validateProvider(provider(text))]) {
      expect(() => validate(name)).toThrow(AppError);
    }
  });

  test('from before is kept when something else changes', async () => {
    const user = await addUser(store, { displayName: TURNED });
    const caller = await auth.authenticatePanel(bearer(await signIn(auth, user)));
    const root = asSession(await addUser(store, { role: 100 }));
    expect((await auth.account.edit(caller, { display_name: TURNED, language: 'zh' })).user.language).toBe('zh');
    await auth.administration.edit(root, user.id, { display_name: TURNED, remark: 'known\nfor long' });
    const key = await auth.apiKeys.create(caller, { name: 'plain' });
    await store.apiKeys.update(key.id, user.id, { name: INVISIBLE });
    expect(await auth.apiKeys.update(caller, key.id, { name: INVISIBLE, models: ['m'] })).toMatchObject({
      models: ['m'],
    });
    expect(await refusedParam(auth.apiKeys.update(caller, key.id, { name: TURNED }))).toBe('name');
    expect(validateProvider(provider(TURNED), provider(TURNED)).name).toBe(TURNED);
  });

  test('of another script is allowed', async () => {
    const user = await addUser(store);
    const caller = await auth.authenticatePanel(bearer(await signIn(auth, user)));
    const name = 'می‌خواهم';
    expect((await auth.account.edit(caller, { display_name: name })).user.display_name).toBe(name);
  });
});

const provider = (name: string) => ({
  ...DEFAULT_FIELDS,
  name,
  client_id: 'id',
  well_known: 'https://id.example/.well-known/openid-configuration',
});
