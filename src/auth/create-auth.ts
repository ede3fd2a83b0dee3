import type { Clock, Logger, SecretBox, WatchCache } from '../kernel/index.ts';
import type { Counters, Page, Paged, SessionCache, Store, SuccessLists } from '../store/ports/index.ts';
import type { SendMail, Upstream } from '../upstream/index.ts';
import { type Administration, createAdministration } from './administration/administration.ts';
import { type AuthenticateApiKey, createAuthenticateApiKey } from './api-keys/authenticate-api-key.ts';
import { createDeleteApiKey, createUpdateApiKey } from './api-keys/change-api-key.ts';
import { type CreatedApiKey, createCreateApiKey } from './api-keys/create-api-key.ts';
import type { ApiKeyView } from './api-keys/describe-api-key.ts';
import { createListApiKeys, createReadApiKey } from './api-keys/list-api-keys.ts';
import { createRotateWebhookSecret, type NewWebhookSecret } from './api-keys/rotate-webhook-secret.ts';
import type { ApiKeyFields } from './api-keys/validate-api-key.ts';
import { createAuthenticateOptional, createAuthenticatePanel } from './authenticate-panel.ts';
import { createChangeSecurity } from './change-security.ts';
import type { AuthConfig, AuthSettings, SettingsIn } from './config.ts';
import { deriveSessionKeys } from './derive-keys.ts';
import { orUnavailable } from './errors.ts';
import { createFlows } from './flows/flows.ts';
import { createGuessLimit } from './limits/limit-guesses.ts';
import { createModelRequestLimit, type ModelRequestLimit } from './limits/limit-model-requests.ts';
import { createRequestLimit, createUserLimit, type RequestLimit, type UserLimit } from './limits/limit-requests.ts';
import { createAccountSlowdown } from './limits/slow-account.ts';
import { createCompleteLogin, type LoginResult } from './login/complete-login.ts';
import { createFinishTwoFactorLogin, type TwoFactorLogin } from './login/finish-two-factor-login.ts';
import { type BindAddress, createBindAddress } from './mail/bind-address.ts';
import { createCodeRequestLimit, createLetterLimit } from './mail/limit-letters.ts';
import { createMailCodes } from './mail/mail-codes.ts';
import { createOutbox } from './mail/outbox.ts';
import { createTryMail, type TryMail } from './mail/try-mail.ts';
import { createOAuth, type OAuth } from './oauth/oauth.ts';
import { createFindOrMakeOwner } from './oauth/own-identity.ts';
import { createCheckAssertion } from './passkeys/check-assertion.ts';
import { type ConfirmWithPasskey, createConfirmWithPasskey } from './passkeys/confirm-with-passkey.ts';
import { createLogInWithPasskey, type LogInWithPasskey } from './passkeys/log-in-with-passkey.ts';
import { createManagePasskeys, type ManagePasskeys } from './passkeys/manage-passkeys.ts';
import { createRegisterPasskey, type RegisterPasskey } from './passkeys/register-passkey.ts';
import { createChangePassword, type PasswordChange } from './passwords/change-password.ts';
import { createLogIn, type LoginRequest } from './passwords/log-in.ts';
import { createPasswordHashes } from './passwords/password-hashes.ts';
import { createResetByMail, type ResetByMail } from './passwords/reset-by-mail.ts';
import { createResetPassword, type PasswordReset, type PasswordResetDone } from './passwords/reset-password.ts';
import { createPersonalTokens, type PersonalTokens } from './personal-tokens/keep-personal-token.ts';
import { createAllowedProofMethods } from './proofs/allowed-methods.ts';
import { createDescribeProof, type ProofDescription } from './proofs/describe-proof.ts';
import { createProveIdentity, type ProofRequest } from './proofs/prove-identity.ts';
import {
  createSecurityProofs,
  type ProofBundle,
  type ProofScope,
  type SecurityProofs,
} from './proofs/security-proofs.ts';
import { createAffiliateCode } from './registration/affiliate-code.ts';
import { createOpenAccount } from './registration/open-account.ts';
import { createPassChallenge } from './registration/pass-challenge.ts';
import { createRegister, type Registered, type Registration } from './registration/register.ts';
import { type CodeRequest, createSendVerification } from './registration/send-verification.ts';
import type { RotationBundle, SessionView, SignedIn } from './sessions/describe-session.ts';
import { createFindOwnSession } from './sessions/find-own-session.ts';
import { createListSessions } from './sessions/list-sessions.ts';
import { createLogOut, type LogoutRequest, type LogoutResult } from './sessions/log-out.ts';
import { createSessionOversight, type SessionOversight } from './sessions/oversee-sessions.ts';
import { createRefreshTokens } from './sessions/refresh-tokens.ts';
import { createRevokeOtherSessions, createRevokeSession } from './sessions/revoke-sessions.ts';
import { createRotateRefresh, type RefreshRequest } from './sessions/rotate-refresh.ts';
import { createSessionGate } from './sessions/session-gate.ts';
import { createSetup, type Setup } from './setup/complete-setup.ts';
import { type CreatedRoot, createCreateRoot, type NewRoot } from './setup/create-root.ts';
import { createSignIns, type SignInSample } from './sign-ins/record-sign-ins.ts';
import { type BindTelegram, createBindTelegram } from './telegram/bind-telegram.ts';
import { createLogInWithTelegram, type TelegramLogin } from './telegram/log-in-with-telegram.ts';
import { createAccessTokens } from './tokens/access-tokens.ts';
import { createAuthenticator } from './two-factor/authenticator.ts';
import { createBackupCodes } from './two-factor/backup-codes.ts';
import { createSpendCode } from './two-factor/spend-code.ts';
import { createTwoFactor, type TwoFactor } from './two-factor/two-factor.ts';
import type { PanelPrincipal } from './types.ts';
import { createBindIdentity } from './users/bind-identity.ts';
import type { PanelUser } from './users/describe-user.ts';
import { createOwnAccount, type OwnAccount } from './users/edit-own-account.ts';
import { loadPanelUser } from './users/load-factors.ts';
import { type AccessWatcher, createAccessWatcher } from './watch-access.ts';
import { createIdentifyByCode } from './wechat/identify-by-code.ts';
import { createReadQrCode, type ReadQrCode } from './wechat/read-qr-code.ts';
import { createWeChat, type WeChat } from './wechat/wechat.ts';

export type AuthDeps = {
  store: Store;
  counters: Counters;
  successLists: SuccessLists;
  sessionCache: SessionCache;
  clock: Clock;
  logger: Logger;
  /** Seals what must be read again, such as the secrets of authenticator apps. */
  secretBox: SecretBox;
  /** Asks the verifier of the challenge. */
  upstream: Upstream;
  sendMail: SendMail;
  config: AuthConfig;
  settings: () => AuthSettings;
  settingsIn: SettingsIn;
  watchCache?: WatchCache;
  /** Told of every sign-in and failure, for the metrics. */
  onSignIn?: (sample: SignInSample) => void;
};

/**
 * Accounts and credentials. Every operation rejects with an `auth.…` error of the catalogue; trouble with the store is
 * `auth.unavailable`, as `orUnavailable` says.
 */
export interface Auth {
  authenticatePanel(authorization: string | undefined): Promise<PanelPrincipal>;
  /** Who speaks where nobody has to; undefined: nobody. A credential of ours that is not valid is refused as above. */
  authenticateOptional(authorization: string | undefined): Promise<PanelPrincipal | undefined>;
  authenticateApiKey: AuthenticateApiKey;
  /** Ends the streams of users, keys and sessions that end. */
  watchAccess: AccessWatcher['watch'];
  /** The signed-in user as he may see himself, with his factors and bindings. */
  describe(principal: PanelPrincipal): Promise<PanelUser>;
  /** What people do with their own account besides password and factors. */
  readonly account: OwnAccount;
  /** What administrators do with the accounts of others. */
  readonly administration: Administration;
  readonly setup: Setup & {
    /** Makes the first root account without a link: for the command line, which holds the data directory. */
    createRoot(root: NewRoot): Promise<CreatedRoot>;
  };
  readonly registration: {
    /** Makes an account with a password; no session. */
    register(registration: Registration): Promise<Registered>;
    /** Mails the code that confirms the address of a new account. */
    sendVerification(request: CodeRequest): Promise<void>;
    /** The caller's own affiliate code. */
    affiliateCode(principal: PanelPrincipal): Promise<string>;
  };
  readonly mail: {
    /** The address of a signed-in user. */
    readonly address: BindAddress;
    /** Sends a test mail under the settings of this moment, step by step. */
    test: TryMail;
    /** Takes no more mails; waits at most `graceMs` for those under way and drops the others. */
    stop(graceMs: number): Promise<void>;
  };
  readonly passwords: {
    /** By a mailed link. */
    readonly byMail: ResetByMail;
    logIn(request: LoginRequest): Promise<LoginResult>;
    change(principal: PanelPrincipal, change: PasswordChange): Promise<RotationBundle>;
    /** For the command line: no proof is asked. */
    reset(reset: PasswordReset): Promise<PasswordResetDone>;
  };
  readonly sessions: {
    refresh(request: RefreshRequest): Promise<SignedIn>;
    logOut(request: LogoutRequest): Promise<LogoutResult>;
    list(principal: PanelPrincipal): Promise<SessionView[]>;
    revoke(principal: PanelPrincipal, sid: string): Promise<{ revoked_sid: string; current: boolean }>;
    revokeOthers(principal: PanelPrincipal): Promise<{ revoked_count: number }>;
    /** Anybody's sessions, for root. */
    readonly ofUsers: SessionOversight;
  };
  /** Personal access tokens. */
  readonly personalTokens: PersonalTokens;
  /** Authenticator apps and backup codes. */
  readonly twoFactor: TwoFactor & { finishLogin(login: TwoFactorLogin): Promise<LoginResult> };
  readonly passkeys: ManagePasskeys & {
    readonly registration: RegisterPasskey;
    readonly login: LogInWithPasskey;
    readonly confirmation: ConfirmWithPasskey;
  };
  /** Sign-in and binding through providers of identities, and everybody's bindings. */
  readonly oauth: OAuth;
  readonly telegram: { logIn(login: TelegramLogin): Promise<LoginResult>; readonly binding: BindTelegram };
  readonly wechat: WeChat & { qrCode: ReadQrCode };
  readonly proofs: {
    /** Whether a scope needs a proof of this account, and how it may be made. */
    describe(principal: PanelPrincipal, scope: ProofScope): Promise<ProofDescription>;
    /** A Security Proof for a code or a password. */
    prove(principal: PanelPrincipal, request: ProofRequest): Promise<ProofBundle>;
    require: SecurityProofs['require'];
  };
  readonly apiKeys: {
    create(principal: PanelPrincipal, fields: Omit<ApiKeyFields, 'status'>): Promise<CreatedApiKey>;
    list(principal: PanelPrincipal, page: Page): Promise<Paged<ApiKeyView>>;
    read(principal: PanelPrincipal, id: number): Promise<ApiKeyView>;
    update(principal: PanelPrincipal, id: number, fields: ApiKeyFields): Promise<ApiKeyView>;
    delete(principal: PanelPrincipal, id: number): Promise<void>;
    /** Makes the secret that signs the notices of a key, or a new one. */
    rotateWebhookSecret(principal: PanelPrincipal, id: number): Promise<NewWebhookSecret>;
  };
  readonly limits: {
    /** One count an address for all sign-in, refresh and other critical routes together. */
    critical: RequestLimit;
    /** The numbers of `critical`, counted for each user and scope. */
    user: UserLimit;
    /** One count an address for all of `/api`. */
    api: RequestLimit;
    /** What a user may submit to models, by the numbers of his group. */
    modelRequests: ModelRequestLimit;
  };
}

export function createAuth(deps: AuthDeps): Auth {
  const { store, counters, clock, logger, config } = deps;
  const keys = deriveSessionKeys(config.sessionSecrets);
  const allowedProofMethods = createAllowedProofMethods(deps);
  const openAccount = createOpenAccount(deps);
  const basics = {
    ...deps,
    allowedProofMethods,
    accessTokens: createAccessTokens(keys.access, clock, deps.watchCache),
    refreshTokens: createRefreshTokens(keys),
    proofs: createSecurityProofs(keys.proof, clock, allowedProofMethods),
    flows: createFlows(keys.flow, clock),
    passwords: createPasswordHashes(deps),
    signIns: createSignIns(deps),
    limitGuesses: createGuessLimit(counters),
    authenticator: createAuthenticator(deps),
    backupCodes: createBackupCodes(config),
    sessions: createSessionGate(deps),
    checkAssertion: createCheckAssertion(deps),
    bindIdentity: createBindIdentity(deps),
    identifyByCode: createIdentifyByCode(deps),
    mailCodes: createMailCodes({ store, clock, keys: keys.flow }),
    limitCodeRequests: createCodeRequestLimit(counters),
    allowLetter: createLetterLimit(counters),
    outbox: createOutbox(deps),
    passChallenge: createPassChallenge(deps),
    openAccount,
  };
  const room = {
    ...basics,
    slowdown: createAccountSlowdown(basics),
    findOwnSession: createFindOwnSession(basics),
    completeLogin: createCompleteLogin(basics),
    changeSecurity: createChangeSecurity(basics),
    spendCode: createSpendCode(basics),
    findOrMakeOwner: createFindOrMakeOwner(basics),
  };

  /** The operation with the room's one answer to trouble with the store. */
  const guarded =
    <A extends unknown[], T>(operation: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      orUnavailable(logger, () => operation(...args));

  const critical = { limit: config.criticalLimit, windowSeconds: config.criticalLimitSeconds };
  const createRoot = createCreateRoot(room);
  const setup = createSetup({ store, createRoot });
  const oversight = createSessionOversight(room);
  const personalTokens = createPersonalTokens(room);
  const passkeys = createManagePasskeys(room);
  const passkeyRegistration = createRegisterPasskey(room);
  const passkeyLogin = createLogInWithPasskey(room);
  const passkeyConfirmation = createConfirmWithPasskey(room);
  const twoFactor = createTwoFactor(room);
  const account = createOwnAccount(room);
  const administration = createAdministration(room);
  const telegramBinding = createBindTelegram(room);
  const wechat = createWeChat(room);
  const resetByMail = createResetByMail(room);
  const bindAddress = createBindAddress(room);
  const authenticatePanel = createAuthenticatePanel(room);
  const oauth = createOAuth(room);
  return {
    authenticatePanel: guarded(authenticatePanel),
    authenticateOptional: guarded(createAuthenticateOptional(authenticatePanel)),
    authenticateApiKey: guarded(createAuthenticateApiKey(room)),
    watchAccess: createAccessWatcher(room).watch,
    describe: guarded(({ user }: PanelPrincipal) => loadPanelUser(store, user)),
    account: {
      edit: guarded(account.edit),
      delete: guarded(account.delete),
      revokeLinks: guarded(account.revokeLinks),
    },
    administration: {
      list: guarded(administration.list),
      find: guarded(administration.find),
      create: guarded(administration.create),
      edit: guarded(administration.edit),
      changeStanding: guarded(administration.changeStanding),
      changeQuota: guarded(administration.changeQuota),
      delete: guarded(administration.delete),
      revokeLinks: guarded(administration.revokeLinks),
      reset: {
        twoFactor: guarded(administration.reset.twoFactor),
        passkeys: guarded(administration.reset.passkeys),
        personalToken: guarded(administration.reset.personalToken),
        binding: guarded(administration.reset.binding),
      },
    },
    setup: {
      needed: guarded(setup.needed),
      openLink: guarded(setup.openLink),
      complete: guarded(setup.complete),
      createRoot: guarded(createRoot),
    },
    registration: {
      register: guarded(createRegister(room)),
      sendVerification: guarded(createSendVerification(room)),
      affiliateCode: guarded(createAffiliateCode(room)),
    },
    mail: {
      address: {
        sendCode: guarded(bindAddress.sendCode),
        bind: guarded(bindAddress.bind),
        unbind: guarded(bindAddress.unbind),
      },
      test: createTryMail(room),
      stop: (graceMs) => room.outbox.stop(graceMs),
    },
    passwords: {
      byMail: { request: guarded(resetByMail.request), finish: guarded(resetByMail.finish) },
      logIn: guarded(createLogIn(room)),
      change: guarded(createChangePassword(room)),
      reset: guarded(createResetPassword(room)),
    },
    sessions: {
      refresh: guarded(createRotateRefresh(room)),
      logOut: guarded(createLogOut(room)),
      list: guarded(createListSessions(room)),
      revoke: guarded(createRevokeSession(room)),
      revokeOthers: guarded(createRevokeOtherSessions(room)),
      ofUsers: {
        list: guarded(oversight.list),
        revoke: guarded(oversight.revoke),
        revokeAll: guarded(oversight.revokeAll),
      },
    },
    personalTokens: {
      create: guarded(personalTokens.create),
      revoke: guarded(personalTokens.revoke),
      describe: guarded(personalTokens.describe),
    },
    twoFactor: {
      status: guarded(twoFactor.status),
      setUp: guarded(twoFactor.setUp),
      enable: guarded(twoFactor.enable),
      disable: guarded(twoFactor.disable),
      replaceBackupCodes: guarded(twoFactor.replaceBackupCodes),
      finishLogin: guarded(createFinishTwoFactorLogin(room)),
    },
    passkeys: {
      list: guarded(passkeys.list),
      rename: guarded(passkeys.rename),
      delete: guarded(passkeys.delete),
      registration: { begin: guarded(passkeyRegistration.begin), finish: guarded(passkeyRegistration.finish) },
      login: { begin: guarded(passkeyLogin.begin), finish: guarded(passkeyLogin.finish) },
      confirmation: { begin: guarded(passkeyConfirmation.begin), finish: guarded(passkeyConfirmation.finish) },
    },
    oauth: {
      begin: guarded(oauth.begin),
      finish: guarded(oauth.finish),
      bindings: { list: guarded(oauth.bindings.list), unbind: guarded(oauth.bindings.unbind) },
      providers: {
        list: guarded(oauth.providers.list),
        get: guarded(oauth.providers.get),
        create: guarded(oauth.providers.create),
        update: guarded(oauth.providers.update),
        delete: guarded(oauth.providers.delete),
        discover: guarded(oauth.providers.discover),
        listPublic: guarded(oauth.providers.listPublic),
      },
    },
    telegram: {
      logIn: guarded(createLogInWithTelegram(room)),
      binding: { begin: guarded(telegramBinding.begin), finish: guarded(telegramBinding.finish) },
    },
    wechat: {
      beginLogin: guarded(wechat.beginLogin),
      logIn: guarded(wechat.logIn),
      beginBinding: guarded(wechat.beginBinding),
      bind: guarded(wechat.bind),
      qrCode: guarded(createReadQrCode(room)),
    },
    proofs: {
      describe: guarded(createDescribeProof(room)),
      prove: guarded(createProveIdentity(room)),
      require: guarded(room.proofs.require),
    },
    apiKeys: {
      create: guarded(createCreateApiKey(room)),
      list: guarded(createListApiKeys(room)),
      read: guarded(createReadApiKey(room)),
      update: guarded(createUpdateApiKey(room)),
      delete: guarded(createDeleteApiKey(room)),
      rotateWebhookSecret: guarded(createRotateWebhookSecret(room)),
    },
    limits: {
      critical: createRequestLimit(counters, { name: 'critical', ...critical }),
      user: createUserLimit(counters, critical),
      api: createRequestLimit(counters, { name: 'api', limit: config.apiLimit, windowSeconds: config.apiLimitSeconds }),
      modelRequests: createModelRequestLimit(deps),
    },
  };
}
