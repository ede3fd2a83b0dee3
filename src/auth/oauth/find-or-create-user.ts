import { AppError, type Clock, type Logger, randomBelow, sanitizeMessage } from '../../kernel/index.ts';
import type { Repositories, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { LoginResult, ProvenLogin } from '../login/complete-login.ts';
import { MAIL_PROVIDER, readMailAddress } from '../mail/mail-address.ts';
import type { CreateAccount } from '../registration/create-account.ts';
import type { Registered } from '../registration/register.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import { isUsername } from '../users/validate-account.ts';
import type { ExternalIdentity } from './identity-provider.ts';

export type IdentifiedPerson = { provider: string; identity: ExternalIdentity; affCode: string };

/**
 * Completes a login for the owner of an identity, or for a new account that claims it in the
 * login's own transaction. An account is found by the identity alone, never by an address. Rejects
 * with `auth.user_disabled`, and with `auth.registration_disabled` where nobody owns it and new
 * accounts are not made.
 */
export type FindOrCreateUser = (
  person: IdentifiedPerson,
  complete: (proven: ProvenLogin['proven']) => Promise<LoginResult>,
) => Promise<OwnerLogin>;

/** A login, and the account where it was made for it. */
export type OwnerLogin = { login: LoginResult; made: Registered | undefined };

/**
 * So often somebody else may take the identity, the name or the address between our look and our
 * claim.
 */
const ATTEMPTS = 4;
const TAKEN_MEANWHILE = ['auth.identity_taken', 'auth.name_taken'];
/** Names tried after the provider's own. */
const NAMES = 8;
/** With the longest slug, 26 characters, and the underscore a name has 32. */
const NUMBERS = 100_000;
const MAX_DISPLAY_NAME = 64;

export function createFindOrCreateUser(deps: {
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  createAccount: CreateAccount;
}): FindOrCreateUser {
  const { clock, logger, settings, createAccount } = deps;

  async function makeOwner(tx: Repositories, { provider, identity, affCode }: IdentifiedPerson): Promise<UserRecord> {
    const username = await findFreeName(tx, provider, identity.username);
    const user = await createAccount(tx, {
      username,
      displayName: sanitizeMessage(identity.displayName.toWellFormed(), MAX_DISPLAY_NAME) || username,
      passwordHash: null,
      email: await findFreeAddress(tx, identity.email),
      identity: { provider, subject: identity.subject },
      language: 'en',
      affCode,
    });
    const claim = { provider, subject: identity.subject, userId: user.id, createdAt: clock.unix() };
    // The account goes with the transaction.
    if ((await tx.identities.claim(claim)) !== 'ok') throw authErrors.identity_taken();
    return user;
  }

  return async (person, complete) => {
    const { provider, identity } = person;
    let made: UserRecord | undefined;
    const proven = async (tx: Repositories) => {
      made = undefined;
      const owner = await tx.identities.owner(provider, identity.subject);
      if (!owner) {
        if (!settings().registration.enabled) throw unknownHere();
        made = await makeOwner(tx, person);
        return made;
      }
      const user = await tx.users.byId(owner.userId);
      if (user?.status !== USER_ENABLED) throw authErrors.user_disabled();
      return user;
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const login = await complete(proven);
        if (!made) return { login, made };
        logger.info({ userId: made.id, provider }, 'account created by a provider');
        return { login, made: { userId: made.id, username: made.username } };
      } catch (error) {
        if (!(error instanceof AppError) || !TAKEN_MEANWHILE.includes(error.code)) throw error;
        if (attempt === ATTEMPTS) throw authErrors.changed_meanwhile({ cause: error });
      }
    }
  };
}

/**
 * The provider's own name of the person, if it is allowed and free, else one made of the
 * provider's.
 */
async function findFreeName(tx: Repositories, provider: string, wanted: string): Promise<string> {
  const numbered = Array.from({ length: NAMES }, () => `${provider}_${randomBelow(NUMBERS)}`);
  for (const name of isUsername(wanted) ? [wanted, ...numbered] : numbered) {
    if (!(await tx.users.byLogin(name))) return name;
  }
  throw authErrors.name_taken();
}

/** The address, if it can be one and nobody owns it. */
async function findFreeAddress(tx: Repositories, text: string): Promise<string | null> {
  const address = readMailAddress(text);
  return address === undefined || (await tx.identities.owner(MAIL_PROVIDER, address)) ? null : address;
}

const unknownHere = () =>
  authErrors.registration_disabled({
    message: 'No account here is bound to this identity, and new accounts are not made at this time.',
  });
