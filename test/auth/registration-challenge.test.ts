import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { ServerResponse } from 'node:http';
import type { Auth, AuthSettings } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { recordingLogger } from '../http/kit-harness.ts';
import { addUser } from '../support/add-user.ts';
import { type ChallengeServer, startChallengeServer } from '../support/challenge.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { openTestStore } from './harness.ts';
import { mailSettings, newOrigin, newPerson, openMailAuth } from './mail-harness.ts';
import { refusal } from './refusal.ts';

const SECRET = 'the secret key of the verifier';

describe('the challenge', () => {
  let store: Store;
  let stop: () => Promise<void>;
  let server: ChallengeServer;
  let auth: Auth;
  let settings: AuthSettings;
  let lines: ReturnType<typeof recordingLogger>['lines'];
  let username: string;

  beforeAll(async () => {
    ({ store, stop } = await openTestStore('sqlite'));
  });
  afterAll(() => stop());
  beforeEach(async () => {
    server = await startChallengeServer(SECRET);
    settings = mailSettings({ challenge: { siteKey: 'site', secretKey: SECRET, verifyUrl: server.url } });
    const recording = recordingLogger();
    lines = recording.lines;
    auth = openMailAuth(store, { settings: () => settings, logger: recording.logger }).auth;
    ({ username } = await addUser(store));
  });
  afterEach(() => server.stop());

  const origin = newOrigin();
  const { email } = newPerson();
  /** Every operation that requires the captcha. */
  const guarded: [string, (challengeToken: string | undefined) => Promise<unknown>][] = [
    [
      'registration',
      (challengeToken) => {
        settings = { ...settings, registration: { ...settings.registration, verifyEmail: false } };
        return auth.registration.register({ ...newPerson(), password: PASSWORD, ...given(challengeToken), origin });
      },
    ],
    [
      'verification',
      (challengeToken) =>
        auth.registration.sendVerification({ email: newPerson().email, ...given(challengeToken), origin: newOrigin() }),
    ],
    [
      'reset',
      (challengeToken) => auth.passwords.byMail.request({ email: newPerson().email, ...given(challengeToken), origin }),
    ],
  ];
  const given = (challengeToken: string | undefined) => (challengeToken === undefined ? {} : { challengeToken });

  for (const [what, attempt] of guarded) {
    test(`${what} passes with a solved challenge, which is verified in full`, async () => {
      const token = server.solve();
      await attempt(token);
      expect(server.asked).toMatchObject([
        { method: 'POST', contentType: 'application/x-www-form-urlencoded', secret: SECRET, response: token },
      ]);
      expect(server.asked[0]?.remoteip).toMatch(/^(203|198)\./);
    });

    test(`${what} is refused and logged while the secret key cannot be decrypted`, async () => {
      settings = { ...settings, challenge: 'unusable' };
      for (const token of [server.solve(), undefined]) await refusal(attempt(token), 'auth.challenge_failed');
      expect(server.asked).toEqual([]);
      expect(JSON.stringify(lines)).toContain('enter the key again');
    });

    test(`${what} is refused without, with an invented one, and with a replayed one`, async () => {
      await refusal(attempt(undefined), 'auth.challenge_failed');
      await refusal(attempt(''), 'auth.challenge_failed');
      expect(server.asked).toEqual([]);
      await refusal(attempt('invented'), 'auth.challenge_failed');
      const token = server.solve();
      await attempt(token);
      await refusal(attempt(token), 'auth.challenge_failed');
      expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    });
  }

  const troubles: [string, (response: ServerResponse) => void][] = [
    ['answers 500', (response) => response.writeHead(500).end('{"success":true}')],
    ['answers garbage', (response) => response.end('<html>success</html>')],
    ['answers something else in JSON', (response) => response.end('{"success":"true"}')],
    ['answers an array', (response) => response.end('[true]')],
    ['redirects', (response) => response.writeHead(302, { location: '/elsewhere' }).end()],
    ['closes', (response) => response.destroy()],
    [
      'pours out more than is read',
      (response) => response.end(`{"success":true,"padding":"${'x'.repeat(2 * 1024 * 1024)}"}`),
    ],
  ];
  for (const [what, trouble] of troubles) {
    test(`fails closed: a verifier that ${what} admits nobody and is logged`, async () => {
      server.misbehave(trouble);
      await refusal(
        auth.passwords.byMail.request({ email, challengeToken: server.solve(), origin }),
        'auth.challenge_failed',
      );
      const errors = lines.filter(({ level }) => level === 'error');
      expect(errors).toHaveLength(1);
      expect(JSON.stringify(errors)).not.toMatch(/secret key|solved-/);
    });
  }

  test('fails closed: a verifier that hangs times out after ten seconds', async () => {
    server.misbehave(() => {});
    const lived = startLivedTime();
    await refusal(
      auth.passwords.byMail.request({ email, challengeToken: server.solve(), origin }),
      'auth.challenge_failed',
    );
    expect(lived.stop()).toBeLessThan(12_000);
  });

  test('lock-out: sign-in works without the verifier; everything else fails closed', async () => {
    await server.stop();
    expect((await auth.passwords.signIn({ username, password: PASSWORD, origin })).kind).toBe('session');
    await refusal(auth.passwords.byMail.request({ email, challengeToken: 'x', origin }), 'auth.challenge_failed');
  });

  test('an invalid request uses up no solved challenge', async () => {
    const token = server.solve();
    await refusal(
      auth.registration.register({ username: 'no spaces', password: PASSWORD, challengeToken: token, origin }),
      'auth.validation_failed',
    );
    await refusal(
      auth.registration.sendVerification({ email: 'nobody', challengeToken: token, origin: newOrigin() }),
      'auth.validation_failed',
    );
    await auth.registration.sendVerification({ email, challengeToken: token, origin: newOrigin() });
  });

  test('no verifier is called while none is configured', async () => {
    settings = mailSettings();
    await auth.passwords.signIn({ username, password: PASSWORD, origin });
    expect(server.asked).toEqual([]);
  });
});
