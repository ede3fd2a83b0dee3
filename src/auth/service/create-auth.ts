import type { Clock, Logger, ReportCacheSize, SecretBox } from '../../kernel/index.ts';
import type { Counters, SessionCache, Store, SuccessLists } from '../../store/ports/index.ts';
import type { SendMail, Upstream } from '../../upstream/index.ts';
import type { AuthConfig, AuthSettings, ModelRequestSettings, SettingsIn } from '../config.ts';
import { createAuthenticator } from '../credentials/authenticator.ts';
import { createBackupCodes } from '../credentials/backup-codes.ts';
import { createPasswordHashes } from '../credentials/password-hashes.ts';
import { orUnavailable } from '../errors.ts';
import { createGuessDelay, createGuessLimit } from '../limits/limit-guesses.ts';
import { createModelRequestLimit } from '../limits/limit-model-requests.ts';
import { createRequestLimit, createUserLimit } from '../limits/limit-requests.ts';
import { createCodeRequestLimit, createMailCodes, createMailLimit } from '../mail/mail-codes.ts';
import { createMailQueue, findMailedAdministrators, mailUser, tryMail } from '../mail/mail-queue.ts';
import { createNotifyOwner } from '../mail/notify-owner.ts';
import { createIdentifyByCode } from '../messengers/sign-in-with-wechat.ts';
import { createFindProvider } from '../oauth/find-provider.ts';
import { changePassword } from '../passwords/change-password.ts';
import { signInWithPassword } from '../passwords/sign-in-with-password.ts';
import { allowedProofMethods } from '../proofs/proof-methods.ts';
import { createSecurityProofs } from '../proofs/security-proofs.ts';
import { createSignIns, type SignInSample } from '../sessions/record-sign-ins.ts';
import { createSessionRegistry } from '../sessions/session-registry.ts';
import { createAccessTokens } from '../tokens/access-tokens.ts';
import { createFlows } from '../tokens/flows.ts';
import { createRefreshTokens } from '../tokens/refresh-tokens.ts';
import { deriveSessionKeys } from '../tokens/session-keys.ts';
import {
  accountOperations,
  addressOperations,
  providerOperations,
  registrationOperations,
  resetOperations,
} from './account-operations.ts';
import type { Auth, GuardedAuth } from './auth.ts';
import {
  accessOperations,
  factorOperations,
  messengerOperations,
  oauthOperations,
  passkeyOperations,
  proofOperations,
} from './sign-in-operations.ts';
import { createAccessWatcher } from './watch-access.ts';

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
  settings: SettingsSource;
  reportCacheSize?: ReportCacheSize;
  /** Called for every sign-in and every failure, for the metrics. */
  onSignIn?: (sample: SignInSample) => void;
};

type SettingsSource = {
  now: () => AuthSettings;
  /** The settings as a transaction sees them. */
  inTransaction: SettingsIn;
  /** Read at each request for a task. */
  modelRequests: () => ModelRequestSettings;
};

export function createAuth({ settings: source, ...given }: AuthDeps): Auth {
  const { now: settings, inTransaction: settingsIn } = source;
  const deps = { ...given, settings, settingsIn };
  const { store, clock, logger, secretBox, upstream, config } = deps;
  const { counters, successLists, sessionCache } = deps.shared;
  // What holds state or keys: one of each per process.
  const keys = deriveSessionKeys(config.sessionSecrets);
  const tokens = {
    access: createAccessTokens(keys.access, clock, deps.reportCacheSize),
    refresh: createRefreshTokens(keys),
  };
  const sessions = createSessionRegistry({ ...deps, sessionCache });
  const proofs = createSecurityProofs(keys.proof, clock, (principal, scope) =>
    allowedProofMethods({ store, clock, settings }, principal, scope),
  );
  const flows = createFlows(keys.flow, clock);
  const passwords = createPasswordHashes(logger, config.passwordCost);
  const signIns = createSignIns({ ...deps, counters });
  const limitGuesses = createGuessLimit(counters);
  const mailQueue = createMailQueue(deps);
  const notifyOwner = createNotifyOwner({ ...deps, counters, mailQueue });

  const signInDeps = { store, clock, logger, config, tokens, flows, signIns, notifyOwner };
  const factors = { authenticator: createAuthenticator(deps), backupCodes: createBackupCodes(config), limitGuesses };
  const mails = {
    limitCodeRequests: createCodeRequestLimit(counters),
    allowMail: createMailLimit(counters),
    mailQueue,
    mailCodes: createMailCodes({ store, clock, keys: keys.flow }),
  };
  const passwordDeps = {
    ...signInDeps,
    settings,
    passwords,
    limitGuesses,
    guessDelay: createGuessDelay({ ...deps, counters }),
  };
  const passwordChange = { store, clock, logger, tokens, sessions, passwords, signIns, limitGuesses, notifyOwner };
  const findProvider = createFindProvider(deps);
  const identifyByCode = createIdentifyByCode({ counters, upstream });

  const guarded = guardAll<GuardedAuth>(logger, {
    ...accessOperations({ store, clock, logger, config, settings, tokens, sessions, signIns, notifyOwner }),
    ...accountOperations({
      store,
      clock,
      logger,
      config,
      settings,
      secretBox,
      sessions,
      proofs,
      passwords,
      notifyOwner,
    }),
    ...registrationOperations({ store, clock, logger, upstream, config, settings, passwords, ...mails }),
    ...addressOperations({ store, clock, logger, settings, secretBox, proofs, notifyOwner, ...mails }),
    passwords: {
      ...resetOperations({ store, logger, upstream, settings, sessions, passwords, notifyOwner, ...mails }),
      signIn: (request) => signInWithPassword(passwordDeps, request),
      change: (principal, change) => changePassword(passwordChange, principal, change),
    },
    ...factorOperations({ ...signInDeps, sessions, ...factors }),
    ...passkeyOperations({ ...signInDeps, settings, sessions, proofs }, { settingsIn, secretBox }),
    oauth: {
      ...oauthOperations({ ...signInDeps, secretBox, settings, settingsIn, findProvider }),
      providers: providerOperations({ store, clock, secretBox, settings, settingsIn, upstream }),
    },
    ...messengerOperations({ ...signInDeps, settings, upstream, identifyByCode }),
    ...proofOperations({ store, clock, logger, settings, proofs, passwords, signIns, ...factors }),
  });
  const critical = { limit: config.criticalLimit, windowSeconds: config.criticalLimitSeconds };
  const api = { limit: config.apiLimit, windowSeconds: config.apiLimitSeconds };
  return {
    ...guarded,
    watchAccess: createAccessWatcher({ store, clock, logger }).watch,
    mail: {
      ...guarded.mail,
      test: (to, language) => tryMail({ mailQueue }, { to, language }),
      findAdministrators: (tx) => findMailedAdministrators({ settings }, tx),
      sendStored: (notice) => mailUser({ store, mailQueue }, notice),
      stop: (graceMs) => mailQueue.stop(graceMs),
    },
    limits: {
      critical: createRequestLimit(counters, { name: 'critical', ...critical }),
      user: createUserLimit(counters, critical),
      api: createRequestLimit(counters, { name: 'api', ...api }),
      modelRequests: createModelRequestLimit({ counters, successLists, clock, settings: source.modelRequests }),
    },
  };
}

type Operation = (...args: never[]) => Promise<unknown>;
type Operations = { readonly [name: string]: Operation | Operations };

/**
 * Wraps every method of a service, nested objects included, with `orUnavailable`: trouble with the
 * store becomes the room's one answer.
 */
function guardAll<Service extends object>(logger: Logger, service: Service): Service {
  return guardObject(logger, service as Operations) as Service;
}

function guardObject(logger: Logger, operations: Operations): Operations {
  const guarded = Object.entries(operations).map(([name, member]) => [
    name,
    typeof member === 'function'
      ? (...args: never[]) => orUnavailable(logger, () => member(...args))
      : guardObject(logger, member),
  ]);
  return Object.fromEntries(guarded);
}
