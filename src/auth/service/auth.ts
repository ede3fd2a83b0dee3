import type {
  PublicKeyCredentialCreationOptionsJSON as CreationOptions,
  PublicKeyCredentialRequestOptionsJSON as RequestOptions,
} from '@simplewebauthn/server';
import type {
  ApiKeyName,
  ApiKeySearch,
  EnabledStatus,
  Page,
  Paged,
  PresentedKey,
  Repositories,
  UserFilter,
} from '../../store/ports/index.ts';
import type { MailStep } from '../../upstream/index.ts';
import type { PanelUser } from '../accounts/describe-user.ts';
import type { BudgetView, OwnerLimitsView } from '../accounts/validate-budgets.ts';
import type { QuotaChange, QuotaChanged } from '../administration/change-quota.ts';
import type { NewUserFields } from '../administration/create-user.ts';
import type { OperatorsAccount, UserDeleted, UserErased } from '../administration/delete-user.ts';
import type {
  AccountEdit,
  AccountEdited,
  StatusOrRoleAction,
  StatusOrRoleChanged,
} from '../administration/edit-user.ts';
import type { AccountDetail, AccountView } from '../administration/list-accounts.ts';
import type { AuthenticateApiKey } from '../api-keys/authenticate-api-key.ts';
import type { ApiKeyView } from '../api-keys/describe-api-key.ts';
import type { CreatedApiKey } from '../api-keys/edit-api-key.ts';
import type { KeyRotation, RotatedApiKey } from '../api-keys/rotate-api-key.ts';
import type { NewWebhookSecret } from '../api-keys/rotate-webhook-secret.ts';
import type { ApiKeyFields } from '../api-keys/validate-api-key.ts';
import type { ModelRequestLimit } from '../limits/limit-model-requests.ts';
import type { RequestLimit, UserLimit } from '../limits/limit-requests.ts';
import type { StoredNotice } from '../mail/mail-queue.ts';
import type { ReadQrCode } from '../messengers/qr-code-cache.ts';
import type { TelegramSignIn } from '../messengers/sign-in-with-telegram.ts';
import type { WeChatAnswer } from '../messengers/sign-in-with-wechat.ts';
import type { BindingView } from '../oauth/bind-identity.ts';
import type { DiscoveredProvider, ProviderChange, PublicProvider } from '../oauth/custom-providers.ts';
import type { ListedProvider, ProviderView } from '../oauth/describe-provider.ts';
import type { OwnerSignIn } from '../oauth/find-or-create-user.ts';
import type { OAuthRequest, OAuthResult, OAuthReturn, OAuthTicket } from '../oauth/sign-in-with-oauth.ts';
import type { ProviderTrial } from '../oauth/try-custom-provider.ts';
import type { BalanceAlertEdit, BalanceAlertSaved, BalanceAlertView } from '../own-account/balance-alert.ts';
import type { ProfileEdit, ProfileEdited } from '../own-account/edit-own-account.ts';
import type { CreatedPersonalToken, PersonalTokenView } from '../own-account/personal-token.ts';
import type { TaskView } from '../own-account/task-views.ts';
import type { PasskeyConfirmation } from '../passkeys/confirm-with-passkey.ts';
import type { PasskeyDeletion, PasskeyRename } from '../passkeys/manage-passkeys.ts';
import type { Ceremony, PasskeyView } from '../passkeys/passkey-challenge.ts';
import type { PasskeyRegistration, RegisteredPasskey } from '../passkeys/register-passkey.ts';
import type { PasskeySignIn } from '../passkeys/sign-in-with-passkey.ts';
import type { PasswordChange } from '../passwords/change-password.ts';
import type { MailedReset, MailedResetDone, PasswordReset, PasswordResetDone } from '../passwords/reset-password.ts';
import type { PasswordSignIn } from '../passwords/sign-in-with-password.ts';
import type { PanelPrincipal, RequestOrigin, SessionPrincipal } from '../principals.ts';
import type { ProofBundle, ProofDescription, ProofScope } from '../proofs/proof-methods.ts';
import type { ProofRequest, SecurityProofs } from '../proofs/security-proofs.ts';
import type { Registered, Registration } from '../registration/register.ts';
import type { CodeRequest } from '../registration/send-verification.ts';
import type { CreatedRoot, NewRoot, Setup } from '../registration/set-up.ts';
import type { SignInResult } from '../sessions/complete-sign-in.ts';
import type { RotationBundle, SessionView, SignedIn } from '../sessions/describe-session.ts';
import type { RefreshRequest } from '../sessions/rotate-refresh.ts';
import type { SignOutRequest, SignOutResult } from '../sessions/sign-out.ts';
import type { FlowTicket } from '../tokens/flows.ts';
import type { TwoFactorSignIn } from '../two-factor/finish-two-factor-sign-in.ts';
import type {
  ConfirmedByCode,
  NewBackupCodes,
  TwoFactorSetup,
  TwoFactorStatus,
} from '../two-factor/manage-two-factor.ts';
import type { AccessWatcher } from './watch-access.ts';

/**
 * Accounts and credentials. `create-auth.ts` shows which function each method calls; that function
 * documents its errors.
 */
export interface Auth extends GuardedAuth {
  /** Ends the streams of users, keys and sessions whose access ends. */
  watchAccess: AccessWatcher['watch'];
  readonly mail: GuardedAuth['mail'] & {
    /** Sends a test email under the present settings and reports every step. */
    test(to: string, language: string): Promise<MailStep[] | undefined>;
    /** The administrators who have an address; none while mail is not set up. */
    findAdministrators(tx: Pick<Repositories, 'users'>): Promise<number[]>;
    /** Emails a stored notice to its user now. `refused` is final. */
    sendStored(notice: StoredNotice): Promise<'sent' | 'refused' | 'failed'>;
    /** Accepts no more emails, waits at most `graceMs` for queued ones and drops the rest. */
    stop(graceMs: number): Promise<void>;
  };
  readonly limits: {
    /** One count per address for all sign-in, refresh and other critical routes together. */
    critical: RequestLimit;
    /** The numbers of `critical`, counted per user and scope. */
    user: UserLimit;
    /** One count per address for all of `/api`. */
    api: RequestLimit;
    /** What a user may submit to models, by the numbers of the key's group. */
    modelRequests: ModelRequestLimit;
  };
}

/**
 * The operations. Each rejects with an `auth.…` error of the catalogue; trouble with the store is
 * always `auth.unavailable` (see `orUnavailable`).
 */
export interface GuardedAuth {
  authenticatePanel(authorization: string | undefined): Promise<PanelPrincipal>;
  /** For routes with optional credentials; `undefined`: anonymous. */
  authenticateOptional(authorization: string | undefined): Promise<PanelPrincipal | undefined>;
  authenticateApiKey: AuthenticateApiKey;
  /** The signed-in user's own view of the account, with factors, bindings and limits. */
  describe(principal: PanelPrincipal): Promise<PanelUser & OwnerLimitsView & { budget: BudgetView | null }>;
  /** The caller's own account, besides password and factors. */
  readonly account: {
    edit(principal: PanelPrincipal, edit: ProfileEdit): Promise<ProfileEdited>;
    delete(principal: PanelPrincipal, proof: string | undefined): Promise<void>;
    /** Resolves if the person may have an export of the account. */
    confirmExport(principal: PanelPrincipal, proof: string | undefined): Promise<void>;
    /** Invalidates every artifact link of the account. */
    revokeLinks(principal: PanelPrincipal): Promise<void>;
    /** Filters of the list of tasks, which follow the account to every browser. */
    readonly taskViews: {
      list(principal: PanelPrincipal): Promise<TaskView[]>;
      save(principal: PanelPrincipal, view: { name: string; query: string }): Promise<TaskView>;
      delete(principal: PanelPrincipal, id: number): Promise<TaskView>;
    };
  };
  /** What administrators do with other accounts. `requireRank` decides who may do what to whom. */
  readonly administration: {
    list(filter: UserFilter, page: Page): Promise<Paged<AccountView>>;
    /** Id and name of one account, or of those that a keyword finds. */
    names(find: { id?: number; keyword?: string }): Promise<{ id: number; name: string }[]>;
    find(principal: PanelPrincipal, userId: number): Promise<AccountDetail>;
    create(principal: PanelPrincipal, fields: NewUserFields): Promise<AccountView>;
    edit(principal: PanelPrincipal, userId: number, edit: AccountEdit): Promise<AccountEdited>;
    changeStatusOrRole(
      principal: PanelPrincipal,
      userId: number,
      action: StatusOrRoleAction,
    ): Promise<StatusOrRoleChanged>;
    changeQuota(principal: PanelPrincipal, userId: number, change: QuotaChange): Promise<QuotaChanged>;
    delete(principal: PanelPrincipal, userId: number): Promise<UserDeleted>;
    /** For the command line: any account but root's, a deleted one included. */
    deleteByOperator(account: OperatorsAccount): Promise<UserErased>;
    /** Invalidates every artifact link of the account. */
    revokeLinks(principal: PanelPrincipal, userId: number): Promise<void>;
    /** API keys of other accounts. */
    readonly keys: {
      changeStatus(
        principal: PanelPrincipal,
        change: { userId: number; keyId: number; status: EnabledStatus },
      ): Promise<{ name: string; prefix: string; former: EnabledStatus }>;
      delete(
        principal: PanelPrincipal,
        key: { userId: number; keyId: number },
      ): Promise<{ name: string; prefix: string }>;
    };
    /** Removes factors and bindings. */
    readonly reset: {
      twoFactor(principal: PanelPrincipal, userId: number): Promise<void>;
      passkeys(principal: PanelPrincipal, userId: number): Promise<{ deleted: number }>;
      personalToken(principal: PanelPrincipal, userId: number): Promise<void>;
      /** `provider` is `email` for the email address. */
      binding(principal: PanelPrincipal, userId: number, provider: string): Promise<{ subject: string }>;
    };
  };
  readonly setup: Setup & {
    /** Creates the first root account without a link, for the command line. */
    createRoot(root: NewRoot): Promise<CreatedRoot>;
  };
  readonly registration: {
    /** Creates an account with a password; opens no session. */
    register(registration: Registration): Promise<Registered>;
    /** Emails the code that confirms the address of a new account. */
    sendVerification(request: CodeRequest): Promise<void>;
    /** The caller's own affiliate code. */
    affiliateCode(principal: PanelPrincipal): Promise<string>;
  };
  /** The caller's own warning of a low balance. */
  readonly balanceAlert: {
    read(principal: PanelPrincipal): Promise<BalanceAlertView>;
    edit(principal: PanelPrincipal, edit: BalanceAlertEdit): Promise<BalanceAlertSaved>;
    rotateSecret(principal: PanelPrincipal): Promise<BalanceAlertSaved>;
  };
  readonly mail: {
    /** The email address of a signed-in user. */
    readonly address: {
      sendCode(principal: PanelPrincipal, request: { email: string; origin: RequestOrigin }): Promise<void>;
      bind(
        principal: PanelPrincipal,
        request: { email: string; code: string; proof: string | undefined },
      ): Promise<{ email: string }>;
      unbind(principal: PanelPrincipal, request: { proof: string | undefined }): Promise<void>;
    };
  };
  readonly passwords: {
    /** Resets a password by a mailed link. */
    readonly byMail: {
      request(request: CodeRequest): Promise<void>;
      finish(reset: MailedReset): Promise<MailedResetDone>;
    };
    signIn(request: PasswordSignIn): Promise<SignInResult>;
    change(principal: PanelPrincipal, change: PasswordChange): Promise<RotationBundle>;
    /** For the command line: needs no proof. */
    reset(reset: PasswordReset): Promise<PasswordResetDone>;
  };
  readonly sessions: {
    refresh(request: RefreshRequest): Promise<SignedIn>;
    signOut(request: SignOutRequest): Promise<SignOutResult>;
    list(principal: PanelPrincipal): Promise<SessionView[]>;
    revoke(principal: PanelPrincipal, sid: string): Promise<{ revoked_sid: string; current: boolean }>;
    revokeOthers(principal: PanelPrincipal): Promise<{ revoked_count: number }>;
    /** Any user's sessions, for root. */
    readonly ofUsers: {
      list(principal: PanelPrincipal, userId: number): Promise<SessionView[]>;
      revoke(
        principal: PanelPrincipal,
        userId: number,
        sid: string,
      ): Promise<{ revoked_sid: string; current: boolean }>;
      revokeAll(principal: PanelPrincipal, userId: number): Promise<{ revoked_count: number }>;
    };
  };
  /** Personal access tokens. */
  readonly personalTokens: {
    create(principal: PanelPrincipal): Promise<CreatedPersonalToken>;
    revoke(principal: PanelPrincipal): Promise<void>;
    /** `null` when the caller has none. */
    describe(principal: PanelPrincipal): Promise<PersonalTokenView | null>;
  };
  /** Authenticator apps and backup codes. All but `status` and `finishSignIn` need a session. */
  readonly twoFactor: {
    status(principal: PanelPrincipal): Promise<TwoFactorStatus>;
    setUp(principal: PanelPrincipal): Promise<TwoFactorSetup>;
    enable(principal: PanelPrincipal, code: string): Promise<RotationBundle>;
    disable(principal: PanelPrincipal, confirmed: ConfirmedByCode): Promise<RotationBundle>;
    replaceBackupCodes(principal: PanelPrincipal, confirmed: ConfirmedByCode): Promise<NewBackupCodes>;
    finishSignIn(signIn: TwoFactorSignIn): Promise<SignInResult>;
  };
  readonly passkeys: {
    list(principal: PanelPrincipal): Promise<PasskeyView[]>;
    rename(principal: PanelPrincipal, id: number, name: string): Promise<PasskeyRename>;
    /** Deletes one passkey, or all if no `id` is given. */
    delete(principal: PanelPrincipal, deletion: { id?: number; proof: string | undefined }): Promise<PasskeyDeletion>;
    readonly registration: {
      begin(principal: PanelPrincipal, proof: string | undefined): Promise<Ceremony<CreationOptions>>;
      finish(principal: PanelPrincipal, registration: PasskeyRegistration): Promise<RegisteredPasskey>;
    };
    readonly signIn: {
      begin(): Promise<Ceremony<RequestOptions>>;
      finish(signIn: PasskeySignIn): Promise<SignInResult>;
    };
    /** Security Proofs by a passkey. */
    readonly confirmation: {
      begin(principal: PanelPrincipal, scope: ProofScope): Promise<Ceremony<RequestOptions>>;
      finish(principal: PanelPrincipal, confirmation: PasskeyConfirmation): Promise<ProofBundle>;
    };
  };
  /** Sign-in and binding through providers that speak OAuth 2.0 or OpenID Connect. */
  readonly oauth: {
    begin(request: OAuthRequest): Promise<OAuthTicket>;
    finish(answer: OAuthReturn): Promise<OAuthResult>;
    /** The caller's identities at all providers, Telegram and WeChat included. */
    readonly bindings: {
      list(principal: PanelPrincipal): Promise<BindingView[]>;
      unbind(principal: PanelPrincipal, provider: string): Promise<string>;
    };
    /** The providers that root added. */
    readonly providers: {
      list(): Promise<ListedProvider[]>;
      get(id: number): Promise<ListedProvider>;
      create(fields: ProviderChange & { slug: string }): Promise<ProviderView>;
      update(
        id: number,
        change: ProviderChange & { force?: boolean },
      ): Promise<{ before: ProviderView; after: ProviderView }>;
      delete(id: number): Promise<ProviderView>;
      /** Reads a discovery document; stores nothing. */
      discover(address: {
        well_known_url?: string | undefined;
        issuer_url?: string | undefined;
      }): Promise<DiscoveredProvider>;
      /** Tests a provider as it is stored. */
      test(id: number): Promise<ProviderTrial>;
      /** Only the providers that can be used, with their public fields. */
      listPublic(): Promise<PublicProvider[]>;
    };
  };
  readonly telegram: {
    signIn(signIn: TelegramSignIn): Promise<SignInResult>;
    readonly binding: {
      begin(principal: PanelPrincipal): Promise<FlowTicket>;
      finish(
        flowToken: string,
        query: URLSearchParams,
        origin: RequestOrigin,
      ): Promise<{ principal: SessionPrincipal; subject: string }>;
    };
  };
  readonly wechat: {
    beginSignIn(): Promise<FlowTicket>;
    signIn(answer: WeChatAnswer): Promise<OwnerSignIn>;
    beginBinding(principal: PanelPrincipal): Promise<FlowTicket>;
    bind(principal: PanelPrincipal, answer: WeChatAnswer): Promise<{ subject: string }>;
    qrCode: ReadQrCode;
  };
  readonly proofs: {
    /** Whether a scope needs a proof of this account, and by which methods. */
    describe(principal: PanelPrincipal, scope: ProofScope): Promise<ProofDescription>;
    /** Issues a Security Proof for a code or a password. */
    prove(principal: PanelPrincipal, request: ProofRequest): Promise<ProofBundle>;
    require: SecurityProofs['require'];
  };
  readonly apiKeys: {
    create(principal: PanelPrincipal, fields: Omit<ApiKeyFields, 'status'>): Promise<CreatedApiKey>;
    list(principal: PanelPrincipal, page: Page): Promise<Paged<ApiKeyView>>;
    /** Names of keys: the caller's own, unless it says whose or everybody's. */
    names(principal: PanelPrincipal, find: Omit<ApiKeySearch, 'firstOf'> & { all?: boolean }): Promise<ApiKeyName[]>;
    /** Another user's keys, for an operator who may see the account. */
    listFor(principal: PanelPrincipal, of: { userId: number; page: Page }): Promise<Paged<ApiKeyView>>;
    read(principal: PanelPrincipal, id: number): Promise<ApiKeyView>;
    /** What a key may spend in each period; null: no such limit. */
    budget(key: PresentedKey): Promise<BudgetView | null>;
    update(principal: PanelPrincipal, id: number, fields: ApiKeyFields): Promise<ApiKeyView>;
    delete(principal: PanelPrincipal, id: number): Promise<void>;
    /** Replaces a key; the old one works for a while (a day unless told otherwise). */
    rotate(principal: PanelPrincipal, id: number, rotation?: KeyRotation): Promise<RotatedApiKey>;
    /** Ends the replaced key now. */
    endFormer(principal: PanelPrincipal, id: number, prefix?: string): Promise<ApiKeyView>;
    /** Creates or replaces the secret that signs a key's webhook notices. */
    rotateWebhookSecret(principal: PanelPrincipal, id: number): Promise<NewWebhookSecret>;
  };
}
