import { TOTP } from 'otpauth';
import type { Auth } from '../../src/auth/index.ts';
import type { ProofScope } from '../../src/auth/proofs/proof-methods.ts';
import type { Clock, Logger } from '../../src/kernel/index.ts';
import type { NewUser, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { bearer, ORIGIN, signIn } from './harness.ts';
import { type Deviation, SoftwareAuthenticator } from './software-authenticator.ts';

/** The panel's origin, as in `testSettings`. */
const PANEL = { origin: 'http://localhost:3000', rpId: 'localhost' };

export const newAuthenticator = (change: Partial<SoftwareAuthenticator['setup']> = {}): SoftwareAuthenticator =>
  new SoftwareAuthenticator({ ...PANEL, ...change });

/** A signed-in user whose access token is replaced after each security change. */
export type Person = Awaited<ReturnType<typeof createPerson>>;

export async function createPerson(auth: Auth, store: Store, change: Partial<NewUser> = {}) {
  const user: UserRecord = await addUser(store, change);
  const signedIn = await signIn(auth, user);
  let authorization = bearer(signedIn);
  const principal = () => auth.authenticatePanel(authorization);
  const take = (bundle: { access_token: string }) => {
    authorization = `Bearer ${bundle.access_token}`;
  };

  /** A proof by the newest passkey of `authenticator`. */
  async function confirm(authenticator: SoftwareAuthenticator, scope: ProofScope): Promise<string> {
    const me = await principal();
    const { options, flow_token: flowToken } = await auth.passkeys.confirmation.begin(me, scope);
    const credential = authenticator.get(options.publicKey);
    return (await auth.passkeys.confirmation.finish(me, { flowToken, credential })).proof_token;
  }

  return {
    user,
    signedIn,
    principal,
    take,
    confirm,

    /** Registers a new passkey; `proof` where one is needed. */
    async register(authenticator: SoftwareAuthenticator, asked: { name?: string; proof?: string } = {}) {
      const me = await principal();
      const { options, flow_token: flowToken } = await auth.passkeys.registration.begin(me, asked.proof);
      const credential = authenticator.create(options.publicKey);
      const made = await auth.passkeys.registration.finish(me, { ...asked, flowToken, credential, proof: asked.proof });
      take(made.bundle);
      return made;
    },

    /** Enables two-factor; gives a function that makes a proof with it for any scope. */
    async enableTwoFactor(clock: Clock): Promise<(scope: ProofScope) => Promise<string>> {
      const { secret, backup_codes: codes } = await auth.twoFactor.setUp(await principal());
      const code = new TOTP({ secret }).generate({ timestamp: clock.nowMs() });
      take(await auth.twoFactor.enable(await principal(), code));
      return async (scope) => {
        const request = { method: '2fa', code: codes.pop() ?? '', scope, origin: ORIGIN } as const;
        return (await auth.proofs.prove(await principal(), request)).proof_token;
      };
    },
  };
}

/** One login with the newest passkey of `authenticator`. */
export async function logInWith(auth: Auth, authenticator: SoftwareAuthenticator, deviation: Deviation = {}) {
  const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
  const credential = authenticator.get(options.publicKey, deviation);
  return auth.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN });
}

/** A logger that collects its warnings. */
export function recordWarnings(): { logger: Logger; warnings: string[] } {
  const warnings: string[] = [];
  const nothing = () => {};
  const logger: Logger = {
    debug: nothing,
    info: nothing,
    warn: (fields, message) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: nothing,
    child: () => logger,
  };
  return { logger, warnings };
}
