import type { Clock, Logger, SecretBox, WatchCache } from '../kernel/index.ts';
import type { Counters, Page, Paged, SessionCache, Store, SuccessLists } from '../store/ports/index.ts';
import type { SendMail, Upstream } from '../upstream/index.ts';
import type { Administration } from './administration/administration.ts';
import type { AuthenticateApiKey } from './api-keys/authenticate-api-key.ts';
import type { CreatedApiKey } from './api-keys/create-api-key.ts';
import type { ApiKeyView } from './api-keys/describe-api-key.ts';
import type { NewWebhookSecret } from './api-keys/rotate-webhook-secret.ts';
import type { ApiKeyFields } from './api-keys/validate-api-key.ts';
import type { AuthConfig, AuthSettings, SettingsIn } from './config.ts';
import type { ModelRequestLimit } from './limits/limit-model-requests.ts';
import type { RequestLimit, UserLimit } from './limits/limit-requests.ts';
import type { LoginResult } from './login/complete-login.ts';
import type { TwoFactorLogin } from './login/finish-two-factor-login.ts';
import type { ChangeAddress } from './mail/change-address.ts';
import type { TryMail } from './mail/try-mail.ts';
import type { OAuth } from './oauth/oauth.ts';
import type { ConfirmWithPasskey } from './passkeys/confirm-with-passkey.ts';
import type { LogInWithPasskey } from './passkeys/log-in-with-passkey.ts';
import type { ManagePasskeys } from './passkeys/manage-passkeys.ts';
import type { RegisterPasskey } from './passkeys/register-passkey.ts';
import type { PasswordChange } from './passwords/change-password.ts';
import type { LoginRequest } from './passwords/log-in.ts';
import type { ResetByMail } from './passwords/reset-by-mail.ts';
import type { PasswordReset, PasswordResetDone } from './passwords/reset-password.ts';
import type { PersonalTokens } from './personal-tokens/manage-personal-token.ts';
import type { ProofDescription } from './proofs/describe-proof.ts';
import type { ProofRequest } from './proofs/prove-identity.ts';
import type { ProofBundle, ProofScope, SecurityProofs } from './proofs/security-proofs.ts';
import type { Registered, Registration } from './registration/register.ts';
import type { CodeRequest } from './registration/send-verification.ts';
import type { RotationBundle, SessionView, SignedIn } from './sessions/describe-session.ts';
import type { LogoutRequest, LogoutResult } from './sessions/log-out.ts';
import type { UserSessionManagement } from './sessions/manage-user-sessions.ts';
import type { RefreshRequest } from './sessions/rotate-refresh.ts';
import type { Setup } from './setup/complete-setup.ts';
import type { CreatedRoot, NewRoot } from './setup/create-root.ts';
import type { SignInSample } from './sign-ins/record-sign-ins.ts';
import type { BindTelegram } from './telegram/bind-telegram.ts';
import type { TelegramLogin } from './telegram/log-in-with-telegram.ts';
import type { TwoFactor } from './two-factor/two-factor.ts';
import type { PanelPrincipal } from './types.ts';
import type { PanelUser } from './users/describe-user.ts';
import type { OwnAccount } from './users/edit-own-account.ts';
import type { AccessWatcher } from './watch-access.ts';
import type { ReadQrCode } from './wechat/read-qr-code.ts';
import type { WeChat } from './wechat/wechat.ts';

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
 * Accounts and credentials. Every operation rejects with an `auth.…` error of the catalogue;
 * trouble with the store is `auth.unavailable`, as `orUnavailable` says.
 */
export interface Auth {
  authenticatePanel(authorization: string | undefined): Promise<PanelPrincipal>;
  /**
   * Who speaks where nobody has to; undefined: nobody. A credential of ours that is not valid is
   * refused as above.
   */
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
    /**
     * Makes the first root account without a link: for the command line, which holds the data
     * directory.
     */
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
    readonly address: ChangeAddress;
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
    readonly ofUsers: UserSessionManagement;
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
