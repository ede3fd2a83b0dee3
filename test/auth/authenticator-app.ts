import { createHmac } from 'node:crypto';
import type { Auth, PanelPrincipal, SignedIn } from '../../src/auth/index.ts';
import type { Clock } from '../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { bearer, ORIGIN, originFor, signIn } from './harness.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function fromBase32(text: string): Uint8Array {
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
}

/** The code of a time step by RFC 4226 and RFC 6238, without the library that the gateway uses. */
export function codeFor(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** The code that a phone shows. `ahead` counts steps of 30 seconds. */
export type AuthenticatorApp = { secret: string; code(ahead?: number): string };
export const createApp = (secret: string, clock: Clock): AuthenticatorApp => ({
  secret,
  code: (ahead = 0) => codeFor(secret, Math.floor(clock.unix() / 30) + ahead),
});

/** Six digits that are not a code of the app near the present step. */
export function wrongCode(app: AuthenticatorApp, nth = 0): string {
  const right = new Set([-2, -1, 0, 1, 2].map((ahead) => app.code(ahead)));
  const candidates = Array.from({ length: nth + 6 }, (_, i) => String(111_111 + i));
  return candidates.filter((code) => !right.has(code))[nth] ?? '';
}

export const readPrincipal = (auth: Auth, signedIn: SignedIn): Promise<PanelPrincipal> =>
  auth.authenticatePanel(bearer(signedIn));

export const withToken = (auth: Auth, token: string): Promise<PanelPrincipal> =>
  auth.authenticatePanel(`Bearer ${token}`);

export type Protected = {
  user: UserRecord;
  principal: PanelPrincipal;
  signedIn: SignedIn;
  app: AuthenticatorApp;
  backupCodes: string[];
};

/**
 * A user with two-factor enabled, in the session that enabled it. The code of the step before now
 * is used up.
 */
export async function addProtectedUser(auth: Auth, store: Store, clock: Clock): Promise<Protected> {
  const user = await addUser(store);
  const signedIn = await signIn(auth, user);
  const before = await readPrincipal(auth, signedIn);
  const setup = await auth.twoFactor.setUp(before);
  const app = createApp(setup.secret, clock);
  const { access_token } = await auth.twoFactor.enable(before, app.code(-1));
  const principal = await withToken(auth, access_token);
  return { user: principal.user, principal, signedIn, app, backupCodes: setup.backup_codes };
}

/** The first step of a login: the flow's token. */
export async function firstStep(auth: Auth, user: UserRecord, ip = ORIGIN.ip): Promise<string> {
  const login = await auth.passwords.signIn({
    username: user.username,
    password: PASSWORD,
    origin: originFor(ip),
  });
  if (login.kind !== 'require_2fa') throw new Error('no second factor was asked');
  return login.data.flow_token;
}

/** A different address for each call, to avoid the limit of guesses per address. */
export const origins = () => {
  let last = 0;
  return () => {
    last += 1;
    return originFor(`198.51.${Math.floor(last / 250)}.${(last % 250) + 1}`);
  };
};
