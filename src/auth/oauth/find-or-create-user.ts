import { AppError, type Clock, type Logger, randomBelow, sanitizeMessage, sentence } from '../../kernel/index.ts';
import { type Repositories, STATUS, type UserRecord } from '../../store/ports/index.ts';
import { createAccount } from '../accounts/create-account.ts';
import { isUsername } from '../accounts/validate-account.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER, readMailAddress } from '../mail/mail-address.ts';
import { pickLanguage } from '../mail/mail-languages.ts';
import type { Registered } from '../registration/register.ts';
import type { ProvenSignIn, SignInResult } from '../sessions/complete-sign-in.ts';
import type { ExternalIdentity } from './identity-provider.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  settings: () => AuthSettings;
};

export type IdentifiedPerson = {
  provider: string;
  identity: ExternalIdentity;
  affCode: string;
  /** What their browser sent as `Accept-Language`; a new account gets its language. */
  acceptLanguage: string | undefined;
};

/** `created` is the account that was created for this sign-in, if any. */
export type OwnerSignIn = { signIn: SignInResult; created: Registered | undefined };

/**
 * Others may take the identity, the name or the address between our read and our claim. This many
 * attempts are made.
 */
const ATTEMPTS = 4;
const TAKEN_MEANWHILE = ['auth.identity_taken', 'auth.name_taken'];
/** How many generated names are tried after the provider's own. */
const GENERATED_NAMES = 8;
/** The longest slug (26 characters), an underscore and this number fit into a name of 32. */
const MAX_NUMBER = 100_000;
const MAX_DISPLAY_NAME = 64;

/**
 * Completes a sign-in for the owner of an identity. Without an owner, it creates an account that
 * claims the identity in the sign-in's own transaction. Accounts are found by identity only, never
 * by email address.
 *
 * @throws `auth.user_disabled`, and `auth.registration_disabled` when nobody owns the identity and
 * registration is off.
 */
export async function findOrCreateUser(
  ctx: Deps,
  person: IdentifiedPerson,
  complete: (proven: ProvenSignIn['proven']) => Promise<SignInResult>,
): Promise<OwnerSignIn> {
  const { provider, identity } = person;
  let created: UserRecord | undefined;
  const proven = async (tx: Repositories) => {
    created = undefined;
    const owner = await tx.identities.owner(provider, identity.subject);
    if (!owner) {
      if (!ctx.settings().registration.enabled) throw unknownIdentity();
      created = await createOwner(ctx, tx, person);
      return created;
    }
    const user = await tx.users.byId(owner.userId);
    if (user?.status !== STATUS.enabled) throw authErrors.user_disabled();
    return user;
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const signIn = await complete(proven);
      if (!created) return { signIn, created };
      ctx.logger.info({ userId: created.id, provider }, 'account created by a provider sign-in');
      return { signIn, created: { userId: created.id, username: created.username } };
    } catch (error) {
      if (!(error instanceof AppError) || !TAKEN_MEANWHILE.includes(error.code)) throw error;
      if (attempt === ATTEMPTS) throw authErrors.changed_meanwhile({ cause: error });
    }
  }
}

async function createOwner(
  ctx: { clock: Clock; config: AuthConfig; settings: () => AuthSettings },
  tx: Repositories,
  { provider, identity, affCode, acceptLanguage }: IdentifiedPerson,
): Promise<UserRecord> {
  const username = await findFreeName(tx, provider, identity.username);
  const user = await createAccount(ctx, tx, {
    username,
    displayName: sanitizeMessage(identity.displayName.toWellFormed(), MAX_DISPLAY_NAME) || username,
    passwordHash: null,
    email: await findFreeAddress(tx, identity.email),
    identity: { provider, subject: identity.subject },
    language: pickLanguage(acceptLanguage),
    affCode,
  });
  const claim = { provider, subject: identity.subject, userId: user.id, createdAt: ctx.clock.unix() };
  // The error rolls the new account back.
  if ((await tx.identities.claim(claim)) !== 'ok') throw authErrors.identity_taken();
  return user;
}

/** The provider's own name of the person if it is valid and free, else a generated one. */
async function findFreeName(tx: Repositories, provider: string, preferred: string): Promise<string> {
  const generated = Array.from({ length: GENERATED_NAMES }, () => `${provider}_${randomBelow(MAX_NUMBER)}`);
  for (const name of isUsername(preferred) ? [preferred, ...generated] : generated) {
    if (!(await tx.users.byNameOrAddress(name))) return name;
  }
  throw authErrors.name_taken();
}

/** The address, if it is valid and free. */
async function findFreeAddress(tx: Repositories, text: string): Promise<string | null> {
  const address = readMailAddress(text);
  return address === undefined || (await tx.identities.owner(MAIL_PROVIDER, address)) ? null : address;
}

const unknownIdentity = () =>
  authErrors.registration_disabled({
    message: sentence('auth.identity_unknown'),
  });
