import type { Clock, Logger, SecretBox } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { loadPanelUser } from '../accounts/describe-user.ts';
import { describeBudgets, describeOwnerLimits } from '../accounts/validate-budgets.ts';
import { createApiKeyAuthenticator } from '../api-keys/authenticate-api-key.ts';
import type { AuthConfig, AuthSettings, SettingsIn } from '../config.ts';
import type { Authenticator } from '../credentials/authenticator.ts';
import type { BackupCodes } from '../credentials/backup-codes.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { createQrCodeCache } from '../messengers/qr-code-cache.ts';
import {
  beginTelegramBinding,
  finishTelegramBinding,
  signInWithTelegram,
} from '../messengers/sign-in-with-telegram.ts';
import {
  beginWeChatBinding,
  beginWeChatSignIn,
  bindWeChat,
  type IdentifyByCode,
  signInWithWeChat,
} from '../messengers/sign-in-with-wechat.ts';
import { listBindings, unbindIdentity } from '../oauth/bind-identity.ts';
import type { FindProvider } from '../oauth/find-provider.ts';
import { beginOAuth, finishOAuth } from '../oauth/sign-in-with-oauth.ts';
import { createPersonalToken, describePersonalToken, revokePersonalToken } from '../own-account/personal-token.ts';
import { beginPasskeyConfirmation, finishPasskeyConfirmation } from '../passkeys/confirm-with-passkey.ts';
import { deletePasskeys, listPasskeys, renamePasskey } from '../passkeys/manage-passkeys.ts';
import { beginPasskeyRegistration, finishPasskeyRegistration } from '../passkeys/register-passkey.ts';
import { beginPasskeySignIn, finishPasskeySignIn } from '../passkeys/sign-in-with-passkey.ts';
import { describeProof } from '../proofs/proof-methods.ts';
import { type ProofDeps, proveIdentity, type SecurityProofs } from '../proofs/security-proofs.ts';
import type { SignInDeps } from '../sessions/complete-sign-in.ts';
import {
  listSessions,
  listUserSessions,
  revokeAllUserSessions,
  revokeOtherSessions,
  revokeSession,
  revokeUserSession,
} from '../sessions/manage-sessions.ts';
import type { SignIns } from '../sessions/record-sign-ins.ts';
import { rotateRefresh } from '../sessions/rotate-refresh.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { signOut } from '../sessions/sign-out.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import { finishTwoFactorSignIn } from '../two-factor/finish-two-factor-sign-in.ts';
import {
  describeTwoFactor,
  disableTwoFactor,
  enableTwoFactor,
  replaceBackupCodes,
  setUpTwoFactor,
} from '../two-factor/manage-two-factor.ts';
import type { GuardedAuth } from './auth.ts';
import { authenticateOptional, authenticatePanel } from './authenticate-panel.ts';

/** Finds out who sends a request, by session, API key or personal access token. */
export function accessOperations(ctx: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  settings: () => AuthSettings;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  signIns: SignIns;
  notifyOwner: NotifyOwner;
}): Pick<
  GuardedAuth,
  'authenticatePanel' | 'authenticateOptional' | 'authenticateApiKey' | 'describe' | 'sessions' | 'personalTokens'
> {
  return {
    authenticatePanel: (authorization) => authenticatePanel(ctx, authorization),
    authenticateOptional: (authorization) => authenticateOptional(ctx, authorization),
    authenticateApiKey: createApiKeyAuthenticator(ctx),
    async describe({ user }) {
      const [budget = null] = await describeBudgets(ctx, [{ scope: 'user', userId: user.id, budget: user.budget }]);
      return { ...(await loadPanelUser(ctx.store, user)), budget, ...describeOwnerLimits(user) };
    },
    sessions: {
      refresh: (request) => rotateRefresh(ctx, request),
      signOut: (request) => signOut(ctx, request),
      list: (principal) => listSessions(ctx, principal),
      revoke: (principal, sid) => revokeSession(ctx, principal, sid),
      revokeOthers: (principal) => revokeOtherSessions(ctx, principal),
      ofUsers: {
        list: (principal, userId) => listUserSessions(ctx, principal, userId),
        revoke: (principal, userId, sid) => revokeUserSession(ctx, principal, { userId, sid }),
        revokeAll: (principal, userId) => revokeAllUserSessions(ctx, principal, userId),
      },
    },
    personalTokens: {
      create: (principal) => createPersonalToken(ctx, principal),
      revoke: (principal) => revokePersonalToken(ctx, principal),
      describe: (principal) => describePersonalToken(ctx, principal),
    },
  };
}

/** Authenticator apps and backup codes. */
export function factorOperations(
  ctx: SignInDeps & {
    sessions: SessionRegistry;
    authenticator: Authenticator;
    backupCodes: BackupCodes;
    limitGuesses: GuessLimit;
  },
): Pick<GuardedAuth, 'twoFactor'> {
  return {
    twoFactor: {
      status: (principal) => describeTwoFactor(ctx, principal),
      setUp: (principal) => setUpTwoFactor(ctx, principal),
      enable: (principal, code) => enableTwoFactor(ctx, principal, code),
      disable: (principal, confirmed) => disableTwoFactor(ctx, principal, confirmed),
      replaceBackupCodes: (principal, confirmed) => replaceBackupCodes(ctx, principal, confirmed),
      finishSignIn: (signIn) => finishTwoFactorSignIn(ctx, signIn),
    },
  };
}

/** Passkeys: registered, used to sign in, and as a proof. `ways`: the other ways to sign in. */
export function passkeyOperations(
  ctx: SignInDeps & { settings: () => AuthSettings; sessions: SessionRegistry; proofs: SecurityProofs },
  ways: { settingsIn: SettingsIn; secretBox: SecretBox },
): Pick<GuardedAuth, 'passkeys'> {
  return {
    passkeys: {
      list: (principal) => listPasskeys(ctx, principal),
      rename: (principal, id, name) => renamePasskey(ctx, principal, { id, name }),
      delete: (principal, deletion) => deletePasskeys({ ...ctx, ...ways }, principal, deletion),
      registration: {
        begin: (principal, proof) => beginPasskeyRegistration(ctx, principal, proof),
        finish: (principal, registration) => finishPasskeyRegistration(ctx, principal, registration),
      },
      signIn: {
        begin: () => beginPasskeySignIn(ctx),
        finish: (signIn) => finishPasskeySignIn(ctx, signIn),
      },
      confirmation: {
        begin: (principal, scope) => beginPasskeyConfirmation(ctx, principal, scope),
        finish: (principal, confirmation) => finishPasskeyConfirmation(ctx, principal, confirmation),
      },
    },
  };
}

/** Sign-in with Telegram and WeChat. */
export function messengerOperations(
  ctx: SignInDeps & {
    settings: () => AuthSettings;
    upstream: Upstream;
    identifyByCode: IdentifyByCode;
  },
): Pick<GuardedAuth, 'telegram' | 'wechat'> {
  return {
    telegram: {
      signIn: (signIn) => signInWithTelegram(ctx, signIn),
      binding: {
        begin: (principal) => beginTelegramBinding(ctx, principal),
        finish: (flowToken, query, origin) => finishTelegramBinding(ctx, { flowToken, query, origin }),
      },
    },
    wechat: {
      beginSignIn: () => beginWeChatSignIn(ctx),
      signIn: (answer) => signInWithWeChat(ctx, answer),
      beginBinding: (principal) => beginWeChatBinding(ctx, principal),
      bind: (principal, answer) => bindWeChat(ctx, principal, answer),
      qrCode: createQrCodeCache(ctx),
    },
  };
}

/** Security Proofs. */
export function proofOperations(ctx: ProofDeps): Pick<GuardedAuth, 'proofs'> {
  return {
    proofs: {
      describe: (principal, scope) => describeProof(ctx, principal, scope),
      prove: (principal, request) => proveIdentity(ctx, principal, request),
      require: ctx.proofs.require,
    },
  };
}

/** Sign-in through providers that speak OAuth 2.0 or OpenID Connect. */
export function oauthOperations(
  ctx: SignInDeps & {
    secretBox: SecretBox;
    settings: () => AuthSettings;
    settingsIn: SettingsIn;
    findProvider: FindProvider;
  },
): Omit<GuardedAuth['oauth'], 'providers'> {
  return {
    begin: (request) => beginOAuth(ctx, request),
    finish: (answer) => finishOAuth(ctx, answer),
    bindings: {
      list: (principal) => listBindings(ctx, principal),
      unbind: (principal, provider) => unbindIdentity(ctx, principal, provider),
    },
  };
}
