import type { Clock, Logger, SecretBox } from '../../kernel/index.ts';
import type { TwoFactorRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

/** Codes of authenticator apps. */
export interface Authenticator {
  /** A new shared secret: in base32 for the app, sealed for the store. */
  create(): Promise<{ secret: string; secretSealed: string }>;
  /** The `otpauth:` address from which an app reads the secret, usually as a QR code. */
  address(secret: string, username: string): Promise<string>;
  /**
   * The secret of a set-up.
   *
   * @throws `auth.two_factor_unreadable` when no current or former CRYPTO_SECRET opens it.
   */
  open(factor: TwoFactorRecord): string;
  /**
   * The time step that `digits` are the code of, at most one step from now; `undefined` when they
   * are wrong.
   */
  findStep(secret: string, digits: string): Promise<number | undefined>;
}

/** The parameters that every common app assumes. */
const TOTP_PARAMETERS = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** How many steps the clocks may differ. */
const SKEW = 1;
/** 160 bits, RFC 4226 section 4. */
const SECRET_BYTES = 20;

/** A colon ends the issuer in `otpauth:` addresses; apps then show another name, or refuse them. */
const toIssuer = (systemName: string): string =>
  systemName.replaceAll(':', ' ').replaceAll(/\s+/g, ' ').trim() || 'Taskgate';

/** Loaded with the first code: a start without it is shorter. */
const loadOtp = () => import('otpauth');

export function createAuthenticator(deps: {
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  settings: () => AuthSettings;
}): Authenticator {
  const { clock, logger, secretBox, settings } = deps;

  return {
    async create() {
      const { Secret } = await loadOtp();
      const secret = new Secret({ size: SECRET_BYTES }).base32;
      return { secret, secretSealed: secretBox.seal(secret) };
    },
    async address(secret, username) {
      const { TOTP } = await loadOtp();
      const issuer = toIssuer(settings().systemName);
      return new TOTP({ ...TOTP_PARAMETERS, issuer, label: username, secret }).toString();
    },
    open({ userId, secretSealed }) {
      const secret = secretBox.open(secretSealed);
      if (secret === undefined) {
        logger.error(
          { userId },
          'no CRYPTO_SECRET opens the authenticator secret of this user: name the former one in CRYPTO_SECRET_PREVIOUS',
        );
        throw authErrors.two_factor_unreadable();
      }
      return secret;
    },
    async findStep(secret, digits) {
      const { TOTP } = await loadOtp();
      const totp = new TOTP({ ...TOTP_PARAMETERS, secret });
      const timestamp = clock.nowMs();
      const offset = totp.validate({ token: digits, timestamp, window: SKEW });
      return offset === null ? undefined : totp.counter({ timestamp }) + offset;
    },
  };
}
