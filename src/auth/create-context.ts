import type { AuthContext, AuthDeps } from './context.ts';
import { deriveSessionKeys } from './derive-keys.ts';
import { createFlows } from './flows/flows.ts';
import { createGuessLimit } from './limits/limit-guesses.ts';
import { createAccountSlowdown } from './limits/slow-account.ts';
import { createCodeRequestLimit, createMailLimit } from './mail/limit-mails.ts';
import { createMailCodes } from './mail/mail-codes.ts';
import { createOutbox } from './mail/outbox.ts';
import { createFindProvider } from './oauth/find-provider.ts';
import { createPasswordHashes } from './passwords/password-hashes.ts';
import { allowedProofMethods } from './proofs/allowed-methods.ts';
import { createSecurityProofs } from './proofs/security-proofs.ts';
import { createRefreshTokens } from './sessions/refresh-tokens.ts';
import { createSessionRegistry } from './sessions/session-registry.ts';
import { createSignIns } from './sign-ins/record-sign-ins.ts';
import { createAccessTokens } from './tokens/access-tokens.ts';
import { createAuthenticator } from './two-factor/authenticator.ts';
import { createBackupCodes } from './two-factor/backup-codes.ts';
import { createIdentifyByCode } from './wechat/identify-by-code.ts';

/** Creates the parts that hold state or keys: one of each per process. */
export function createContext(deps: AuthDeps): AuthContext {
  const { store, counters, clock, config } = deps;
  const keys = deriveSessionKeys(config.sessionSecrets);
  return {
    ...deps,
    accessTokens: createAccessTokens(keys.access, clock, deps.watchCache),
    refreshTokens: createRefreshTokens(keys),
    sessions: createSessionRegistry(deps),
    proofs: createSecurityProofs(keys.proof, clock, (principal, scope) => allowedProofMethods(deps, principal, scope)),
    flows: createFlows(keys.flow, clock),
    passwords: createPasswordHashes(deps),
    authenticator: createAuthenticator(deps),
    backupCodes: createBackupCodes(config),
    signIns: createSignIns(deps),
    limitGuesses: createGuessLimit(counters),
    limitCodeRequests: createCodeRequestLimit(counters),
    allowMail: createMailLimit(counters),
    slowdown: createAccountSlowdown(deps),
    outbox: createOutbox(deps),
    mailCodes: createMailCodes({ store, clock, keys: keys.flow }),
    findProvider: createFindProvider(deps),
    identifyByCode: createIdentifyByCode(deps),
  };
}
