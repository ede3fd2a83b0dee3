import type { Clock, Logger, SecretBox, WatchCache } from '../kernel/index.ts';
import type { Counters, SessionCache, Store, SuccessLists } from '../store/ports/index.ts';
import type { SendMail, Upstream } from '../upstream/index.ts';
import type { AuthConfig, AuthSettings, SettingsIn } from './config.ts';
import type { Flows } from './flows/flows.ts';
import type { GuessLimit } from './limits/limit-guesses.ts';
import type { RequestLimit } from './limits/limit-requests.ts';
import type { AccountSlowdown } from './limits/slow-account.ts';
import type { MailLimit } from './mail/limit-mails.ts';
import type { MailCodes } from './mail/mail-codes.ts';
import type { Outbox } from './mail/outbox.ts';
import type { FindProvider } from './oauth/find-provider.ts';
import type { PasswordCost, PasswordHashes } from './passwords/password-hashes.ts';
import type { SecurityProofs } from './proofs/security-proofs.ts';
import type { RefreshTokens } from './sessions/refresh-tokens.ts';
import type { SessionRegistry } from './sessions/session-registry.ts';
import type { SignInSample, SignIns } from './sign-ins/record-sign-ins.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import type { Authenticator } from './two-factor/authenticator.ts';
import type { BackupCodes } from './two-factor/backup-codes.ts';
import type { IdentifyByCode } from './wechat/identify-by-code.ts';

/** What the composition root passes in. */
export type AuthDeps = {
  store: Store;
  counters: Counters;
  successLists: SuccessLists;
  sessionCache: SessionCache;
  clock: Clock;
  logger: Logger;
  /** Seals what must be read again, such as the secrets of authenticator apps. */
  secretBox: SecretBox;
  /** Calls identity providers and the captcha verifier. */
  upstream: Upstream;
  sendMail: SendMail;
  config: AuthConfig;
  settings: () => AuthSettings;
  settingsIn: SettingsIn;
  /** What hashing a password costs. Default: what OWASP asks for. */
  passwordCost?: PasswordCost;
  watchCache?: WatchCache;
  /** Called for every sign-in and every failure, for the metrics. */
  onSignIn?: (sample: SignInSample) => void;
};

/**
 * What every operation of this room takes as its first parameter: the dependencies, and the parts
 * that hold state or keys. `createAuth` builds one per process.
 */
export type AuthContext = AuthDeps & {
  accessTokens: AccessTokens;
  refreshTokens: RefreshTokens;
  sessions: SessionRegistry;
  proofs: SecurityProofs;
  flows: Flows;
  passwords: PasswordHashes;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
  signIns: SignIns;
  limitGuesses: GuessLimit;
  limitCodeRequests: RequestLimit;
  allowMail: MailLimit;
  slowdown: AccountSlowdown;
  outbox: Outbox;
  mailCodes: MailCodes;
  findProvider: FindProvider;
  identifyByCode: IdentifyByCode;
};
