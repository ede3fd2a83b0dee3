/**
 * Nobody learns from outside who has an account: not from a body, not from a code, not from the
 * time.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { AppError } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { hashOfGateway, openTestStore } from './harness.ts';
import { mailSettings, newOrigin, newPerson, openMailAuth } from './mail-harness.ts';
import { summarizeDifferences } from './timing-differences.ts';

/**
 * Pairs that are measured, alternating, so that what the machine does besides falls on both alike.
 */
const PAIRS = IS_FULL_RUN ? 40 : 12;
/** A difference that is there is there in every round; one that a busy machine makes is not. */
const ROUNDS = 4;

type Person = { email: string; username: string };

for (const dialect of RULE_DATABASES) {
  describe(`enumeration on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    const known: Person[] = [];

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      const passwordHash = await hashOfGateway();
      for (let i = 0; i < PAIRS; i += 1) {
        const person = newPerson();
        const user = await addUser(store, { ...person, passwordHash });
        await store.identities.claim({ provider: 'email', subject: person.email, userId: user.id, createdAt: 1 });
        known.push(person);
      }
    });
    afterAll(() => stop());

    /** What callers see of an operation, and how long it takes in milliseconds. */
    async function observe(operation: () => Promise<unknown>): Promise<{ seen: unknown; ms: number }> {
      const started = performance.now();
      const seen = await operation().catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        return { code: error.code, message: error.message, details: error.details, param: error.param };
      });
      return { seen, ms: performance.now() - started };
    }

    type Operation = {
      /** What has happened before, for both. */
      before?: (person: Person) => Promise<unknown>;
      run: (person: Person) => Promise<unknown>;
    };
    const sendVerification = ({ email }: Person) => auth.registration.sendVerification({ email, origin: newOrigin() });
    const logIn = (username: string) =>
      auth.passwords.signIn({ username, password: 'wrong password', origin: newOrigin() });
    const operations: Record<string, Operation> = {
      'login by name': { run: ({ username }) => logIn(username) },
      'login by address': { run: ({ email }) => logIn(email) },
      'the request for a code': { run: sendVerification },
      'registration with a wrong code': {
        before: sendVerification,
        run: ({ email }) =>
          auth.registration.register({
            username: newPerson().username,
            password: 'a good password',
            email,
            verificationCode: '00000000',
            origin: newOrigin(),
          }),
      },
      'the request for a link': {
        run: ({ email }) => auth.passwords.byMail.request({ email, origin: newOrigin() }),
      },
      'reset with a wrong token': {
        before: ({ email }) => auth.passwords.byMail.request({ email, origin: newOrigin() }),
        run: ({ email }) =>
          auth.passwords.byMail.finish({
            email,
            token: 'A'.repeat(43),
            password: 'a good password',
            origin: newOrigin(),
          }),
      },
    };

    test('an unknown, a disabled and a passwordless account take as long as a wrong password', async () => {
      const disabled = await addUser(store, { status: 2, passwordHash: await hashOfGateway() });
      const passwordless = await addUser(store, { passwordHash: null });
      const logins = [known[0]?.username ?? '', 'nobody-at-all', disabled.username, passwordless.username];
      const times = logins.map((): number[] => []);
      // The shortest of several is the work itself; taken in turns, and more often on a busy
      // machine.
      const shortest = () => times.map((each) => Math.min(...each));
      const ratio = () => Math.max(...shortest()) / Math.min(...shortest());
      for (let round = 0; round < 3 || (round < 15 && ratio() > 1.3); round += 1) {
        ({ auth } = openMailAuth(store, { settings: () => mailSettings(), costlyPasswords: true }));
        for (const [i, login] of logins.entries()) times[i]?.push((await observe(() => logIn(login))).ms);
      }
      // Without the work for unknown users the ratio is beyond 10.
      expect(ratio()).toBeLessThan(3);
      expect(Math.min(...shortest())).toBeGreaterThan(5);
    });

    for (const [what, { before, run }] of Object.entries(operations)) {
      test(`ASVS 6.3.8: ${what} reveals nothing by body, status or time`, async () => {
        const seen = new Set<string>();
        const rounds: string[] = [];
        for (let round = 1; round <= ROUNDS; round += 1) {
          // Nobody is looked at twice: limits count for each address.
          ({ auth } = openMailAuth(store, { settings: () => mailSettings(), costlyPasswords: true }));
          const differences: number[] = [];
          for (const [i, person] of known.entries()) {
            const pair = { known: person, unknown: newPerson() };
            if (before) for (const who of Object.values(pair)) await before(who);
            const ms = { known: 0, unknown: 0 };
            for (const kind of i % 2 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
              const observed = await observe(() => run(pair[kind]));
              seen.add(JSON.stringify(observed.seen) ?? 'nothing');
              ms[kind] = observed.ms;
            }
            differences.push(ms.known - ms.unknown);
          }
          expect([...seen]).toHaveLength(1);
          const verdict = summarizeDifferences(differences);
          if (verdict === undefined) return;
          rounds.push(verdict);
        }
        throw new Error(`known and unknown take different times: ${rounds.join('; ')}`);
      });
    }
  });
}
