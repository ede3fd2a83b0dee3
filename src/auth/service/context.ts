import type { Clock, Logger, SecretBox, WatchCache } from '../../kernel/index.ts';
import type { Counters, SessionCache, Store, SuccessLists } from '../../store/ports/index.ts';
import type { SendMail, Upstream } from '../../upstream/index.ts';
import type { AuthConfig, AuthSettings, SettingsIn } from '../config.ts';
import type { Authenticator } from '../credentials/authenticator.ts';
import type { BackupCodes } from '../credentials/backup-codes.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { RequestLimit } from '../limits/limit-requests.ts';
import type { AccountSlowdown } from '../limits/slow-account.ts';
import type { MailCodes, MailLimit } from '../mail/mail-codes.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { FindProvider } from '../oauth/find-provider.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import type { SignInSample, SignIns } from '../sessions/record-sign-ins.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { Flows } from '../tokens/flows.ts';
import type { IdentifyByCode } from '../wechat/identify-by-code.ts';

/** What the composition root passes in. */
export type AuthDeps = {
  store: Store;
  /** Shared with the other nodes where Redis is configured. */
  shared: { counters: Counters; successLists: SuccessLists; sessionCache: SessionCache };
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
  watchCache?: WatchCache;
  /** Called for every sign-in and every failure, for the metrics. */
  onSignIn?: (sample: SignInSample) => void;
};

/**
 * The dependencies, and the parts that hold state or keys: one of each per process. Every operation
 * takes those that it uses.
 */
export type AuthContext = Omit<AuthDeps, 'shared'> &
  AuthDeps['shared'] & {
    tokens: SessionTokens;
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
    notifyOwner: NotifyOwner;
    mailCodes: MailCodes;
    findProvider: FindProvider;
    identifyByCode: IdentifyByCode;
  };
