import type { Logger } from '../../kernel/index.ts';
import { describeBudgets } from '../accounts/budgets.ts';
import { ensureAffiliateCode } from '../accounts/create-account.ts';
import { loadPanelUser } from '../accounts/describe-user.ts';
import { describeOwnLimits } from '../accounts/own-limits.ts';
import { changeQuota } from '../administration/change-quota.ts';
import { createUser } from '../administration/create-user.ts';
import { deleteByOperator, deleteUser } from '../administration/delete-user.ts';
import { changeStatusOrRole, editUser, revokeLinks } from '../administration/edit-user.ts';
import { changeUserKeyStatus, deleteUserKey } from '../administration/edit-user-keys.ts';
import { findAccount, findKeyNames, findUserNames, listAccounts } from '../administration/list-accounts.ts';
import { resetBinding, resetPasskeys, resetPersonalToken, resetTwoFactor } from '../administration/reset-factors.ts';
import { createApiKeyAuthenticator } from '../api-keys/authenticate-api-key.ts';
import { listApiKeys, readApiKey } from '../api-keys/describe-api-key.ts';
import { createApiKey, deleteApiKey, updateApiKey } from '../api-keys/edit-api-key.ts';
import { endFormerApiKey, rotateApiKey, rotateWebhookSecret } from '../api-keys/rotate-api-key.ts';
import { createAuthenticator } from '../credentials/authenticator.ts';
import { createBackupCodes } from '../credentials/backup-codes.ts';
import { createPasswordHashes } from '../credentials/password-hashes.ts';
import { orUnavailable } from '../errors.ts';
import { createGuessLimit } from '../limits/limit-guesses.ts';
import { createModelRequestLimit } from '../limits/limit-model-requests.ts';
import { createRequestLimit, createUserLimit } from '../limits/limit-requests.ts';
import { createAccountSlowdown } from '../limits/slow-account.ts';
import { createCodeRequestLimit, createMailCodes, createMailLimit } from '../mail/mail-codes.ts';
import { createNotifyOwner } from '../mail/notify-owner.ts';
import { createOutbox, findMailedAdministrators, mailUser, tryMail } from '../mail/outbox.ts';
import { beginOAuth } from '../oauth/begin-oauth.ts';
import { listBindings, unbindIdentity } from '../oauth/bind-identity.ts';
import {
  createProvider,
  deleteProvider,
  discoverProvider,
  getProvider,
  listProviders,
  listPublicProviders,
  updateProvider,
} from '../oauth/custom-providers.ts';
import { createFindProvider } from '../oauth/find-provider.ts';
import { finishOAuth } from '../oauth/finish-oauth.ts';
import { editBalanceAlert, readBalanceAlert, rotateBalanceAlertSecret } from '../own-account/balance-alert.ts';
import { bindAddress, sendAddressCode, unbindAddress } from '../own-account/change-address.ts';
import { confirmExport, deleteOwnAccount, editOwnAccount, revokeOwnLinks } from '../own-account/edit-own-account.ts';
import { createPersonalToken, describePersonalToken, revokePersonalToken } from '../own-account/personal-token.ts';
import { deleteTaskView, listTaskViews, saveTaskView } from '../own-account/task-views.ts';
import { beginPasskeyConfirmation, finishPasskeyConfirmation } from '../passkeys/confirm-with-passkey.ts';
import { beginPasskeyLogin, finishPasskeyLogin } from '../passkeys/log-in-with-passkey.ts';
import { deletePasskeys, listPasskeys, renamePasskey } from '../passkeys/manage-passkeys.ts';
import { beginPasskeyRegistration, finishPasskeyRegistration } from '../passkeys/register-passkey.ts';
import { changePassword } from '../passwords/change-password.ts';
import { logIn } from '../passwords/log-in.ts';
import { finishResetByMail, requestResetByMail, resetPassword } from '../passwords/reset-password.ts';
import { allowedProofMethods, describeProof } from '../proofs/proof-methods.ts';
import { createSecurityProofs, proveIdentity } from '../proofs/security-proofs.ts';
import { register } from '../registration/register.ts';
import { sendVerification } from '../registration/send-verification.ts';
import { createRoot, createSetup } from '../registration/set-up.ts';
import { logOut } from '../sessions/log-out.ts';
import {
  listSessions,
  listUserSessions,
  revokeAllUserSessions,
  revokeOtherSessions,
  revokeSession,
  revokeUserSession,
} from '../sessions/manage-sessions.ts';
import { createSignIns } from '../sessions/record-sign-ins.ts';
import { rotateRefresh } from '../sessions/rotate-refresh.ts';
import { createSessionRegistry } from '../sessions/session-registry.ts';
import { beginTelegramBinding, finishTelegramBinding, logInWithTelegram } from '../telegram/sign-in-with-telegram.ts';
import { createAccessTokens } from '../tokens/access-tokens.ts';
import { createFlows } from '../tokens/flows.ts';
import { deriveSessionKeys } from '../tokens/keys.ts';
import { createRefreshTokens } from '../tokens/refresh-tokens.ts';
import { finishTwoFactorLogin } from '../two-factor/finish-two-factor-login.ts';
import {
  describeTwoFactor,
  disableTwoFactor,
  enableTwoFactor,
  replaceBackupCodes,
  setUpTwoFactor,
} from '../two-factor/manage-two-factor.ts';
import { createIdentifyByCode } from '../wechat/identify-by-code.ts';
import { createQrCodeCache } from '../wechat/qr-code-cache.ts';
import { beginWeChatBinding, beginWeChatLogin, bindWeChat, logInWithWeChat } from '../wechat/sign-in-with-wechat.ts';
import type { Auth, GuardedAuth } from './auth.ts';
import { authenticateOptional, authenticatePanel } from './authenticate-panel.ts';
import type { AuthContext, AuthDeps } from './context.ts';
import { createAccessWatcher } from './watch-access.ts';

export function createAuth(deps: AuthDeps): Auth {
  const ctx = createContext(deps);
  const { counters, config, logger } = ctx;
  const guarded = guardAll(logger, bindOperations(ctx));
  const critical = { limit: config.criticalLimit, windowSeconds: config.criticalLimitSeconds };
  const api = { limit: config.apiLimit, windowSeconds: config.apiLimitSeconds };
  return {
    ...guarded,
    watchAccess: createAccessWatcher(ctx).watch,
    mail: {
      ...guarded.mail,
      test: (to, language) => tryMail(ctx, { to, language }),
      findAdministrators: (tx) => findMailedAdministrators(ctx, tx),
      sendStored: (notice) => mailUser(ctx, notice),
      stop: (graceMs) => ctx.outbox.stop(graceMs),
    },
    limits: {
      critical: createRequestLimit(counters, { name: 'critical', ...critical }),
      user: createUserLimit(counters, critical),
      api: createRequestLimit(counters, { name: 'api', ...api }),
      modelRequests: createModelRequestLimit(ctx),
    },
  };
}

/** The operations with their context bound, in the shape that the HTTP room calls. */
function bindOperations(ctx: AuthContext): GuardedAuth {
  return {
    authenticatePanel: (authorization) => authenticatePanel(ctx, authorization),
    authenticateOptional: (authorization) => authenticateOptional(ctx, authorization),
    authenticateApiKey: createApiKeyAuthenticator(ctx),
    async describe({ user }) {
      const [budget = null] = await describeBudgets(ctx, [{ scope: 'user', userId: user.id, budget: user.budget }]);
      return { ...(await loadPanelUser(ctx.store, user)), budget, ...describeOwnLimits(user) };
    },
    account: {
      edit: (principal, edit) => editOwnAccount(ctx, principal, edit),
      delete: (principal, proof) => deleteOwnAccount(ctx, principal, proof),
      confirmExport: (principal, proof) => confirmExport(ctx, principal, proof),
      revokeLinks: (principal) => revokeOwnLinks(ctx, principal),
      taskViews: {
        list: (principal) => listTaskViews(ctx, principal),
        save: (principal, view) => saveTaskView(ctx, principal, view),
        delete: (principal, id) => deleteTaskView(ctx, principal, id),
      },
    },
    balanceAlert: {
      read: (principal) => readBalanceAlert(ctx, principal),
      edit: (principal, edit) => editBalanceAlert(ctx, principal, edit),
      rotateSecret: (principal) => rotateBalanceAlertSecret(ctx, principal),
    },
    administration: {
      list: (filter, page) => listAccounts(ctx, filter, page),
      names: (find) => findUserNames(ctx, find),
      find: (principal, userId) => findAccount(ctx, principal, userId),
      create: (principal, fields) => createUser(ctx, principal, fields),
      edit: (principal, userId, edit) => editUser(ctx, principal, { userId, edit }),
      changeStatusOrRole: (principal, userId, action) => changeStatusOrRole(ctx, principal, { userId, action }),
      changeQuota: (principal, userId, change) => changeQuota(ctx, principal, { userId, change }),
      delete: (principal, userId) => deleteUser(ctx, principal, userId),
      deleteByOperator: (account) => deleteByOperator(ctx, account),
      revokeLinks: (principal, userId) => revokeLinks(ctx, principal, userId),
      keys: {
        changeStatus: (principal, change) => changeUserKeyStatus(ctx, principal, change),
        delete: (principal, key) => deleteUserKey(ctx, principal, key),
      },
      reset: {
        twoFactor: (principal, userId) => resetTwoFactor(ctx, principal, userId),
        passkeys: (principal, userId) => resetPasskeys(ctx, principal, userId),
        personalToken: (principal, userId) => resetPersonalToken(ctx, principal, userId),
        binding: (principal, userId, provider) => resetBinding(ctx, principal, { userId, provider }),
      },
    },
    setup: {
      ...createSetup(ctx),
      createRoot: (root) => createRoot(ctx, root),
    },
    registration: {
      register: (registration) => register(ctx, registration),
      sendVerification: (request) => sendVerification(ctx, request),
      affiliateCode: (principal) => ensureAffiliateCode(ctx, principal),
    },
    mail: {
      address: {
        sendCode: (principal, request) => sendAddressCode(ctx, principal, request),
        bind: (principal, request) => bindAddress(ctx, principal, request),
        unbind: (principal, request) => unbindAddress(ctx, principal, request),
      },
    },
    passwords: {
      byMail: {
        request: (request) => requestResetByMail(ctx, request),
        finish: (reset) => finishResetByMail(ctx, reset),
      },
      logIn: (request) => logIn(ctx, request),
      change: (principal, change) => changePassword(ctx, principal, change),
      reset: (reset) => resetPassword(ctx, reset),
    },
    sessions: {
      refresh: (request) => rotateRefresh(ctx, request),
      logOut: (request) => logOut(ctx, request),
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
    twoFactor: {
      status: (principal) => describeTwoFactor(ctx, principal),
      setUp: (principal) => setUpTwoFactor(ctx, principal),
      enable: (principal, code) => enableTwoFactor(ctx, principal, code),
      disable: (principal, confirmed) => disableTwoFactor(ctx, principal, confirmed),
      replaceBackupCodes: (principal, confirmed) => replaceBackupCodes(ctx, principal, confirmed),
      finishLogin: (login) => finishTwoFactorLogin(ctx, login),
    },
    passkeys: {
      list: (principal) => listPasskeys(ctx, principal),
      rename: (principal, id, name) => renamePasskey(ctx, principal, { id, name }),
      delete: (principal, deletion) => deletePasskeys(ctx, principal, deletion),
      registration: {
        begin: (principal, proof) => beginPasskeyRegistration(ctx, principal, proof),
        finish: (principal, registration) => finishPasskeyRegistration(ctx, principal, registration),
      },
      login: {
        begin: () => beginPasskeyLogin(ctx),
        finish: (login) => finishPasskeyLogin(ctx, login),
      },
      confirmation: {
        begin: (principal, scope) => beginPasskeyConfirmation(ctx, principal, scope),
        finish: (principal, confirmation) => finishPasskeyConfirmation(ctx, principal, confirmation),
      },
    },
    oauth: {
      begin: (request) => beginOAuth(ctx, request),
      finish: (answer) => finishOAuth(ctx, answer),
      bindings: {
        list: (principal) => listBindings(ctx, principal),
        unbind: (principal, provider) => unbindIdentity(ctx, principal, provider),
      },
      providers: {
        list: () => listProviders(ctx),
        get: (id) => getProvider(ctx, id),
        create: (fields) => createProvider(ctx, fields),
        update: (id, change) => updateProvider(ctx, id, change),
        delete: (id) => deleteProvider(ctx, id),
        discover: (address) => discoverProvider(ctx, address),
        listPublic: () => listPublicProviders(ctx),
      },
    },
    telegram: {
      logIn: (login) => logInWithTelegram(ctx, login),
      binding: {
        begin: (principal) => beginTelegramBinding(ctx, principal),
        finish: (flowToken, query, origin) => finishTelegramBinding(ctx, { flowToken, query, origin }),
      },
    },
    wechat: {
      beginLogin: () => beginWeChatLogin(ctx),
      logIn: (answer) => logInWithWeChat(ctx, answer),
      beginBinding: (principal) => beginWeChatBinding(ctx, principal),
      bind: (principal, answer) => bindWeChat(ctx, principal, answer),
      qrCode: createQrCodeCache(ctx),
    },
    proofs: {
      describe: (principal, scope) => describeProof(ctx, principal, scope),
      prove: (principal, request) => proveIdentity(ctx, principal, request),
      require: ctx.proofs.require,
    },
    apiKeys: {
      create: (principal, fields) => createApiKey(ctx, principal, fields),
      list: (principal, page) => listApiKeys(ctx, principal.user.id, page),
      names: (principal, find) => findKeyNames(ctx, principal, find),
      async listFor(principal, { userId, page }) {
        await findAccount(ctx, principal, userId);
        return listApiKeys(ctx, userId, page);
      },
      read: (principal, id) => readApiKey(ctx, principal, id),
      async budget({ id, budget }) {
        const [view = null] = await describeBudgets(ctx, [{ scope: 'key', keyId: id, budget }]);
        return view;
      },
      update: (principal, id, fields) => updateApiKey(ctx, principal, { id, fields }),
      delete: (principal, id) => deleteApiKey(ctx, principal, id),
      rotate: (principal, id, rotation) => rotateApiKey(ctx, principal, { id, ...rotation }),
      endFormer: (principal, id, prefix) => endFormerApiKey(ctx, principal, { id, prefix }),
      rotateWebhookSecret: (principal, id) => rotateWebhookSecret(ctx, principal, id),
    },
  };
}

/** Creates the parts that hold state or keys: one of each per process. */
function createContext({ shared, ...own }: AuthDeps): AuthContext {
  const deps = { ...own, ...shared };
  const { store, counters, clock, logger, config } = deps;
  const keys = deriveSessionKeys(config.sessionSecrets);
  const outbox = createOutbox(deps);
  return {
    ...deps,
    tokens: {
      access: createAccessTokens(keys.access, clock, deps.watchCache),
      refresh: createRefreshTokens(keys),
    },
    sessions: createSessionRegistry(deps),
    proofs: createSecurityProofs(keys.proof, clock, (principal, scope) => allowedProofMethods(deps, principal, scope)),
    flows: createFlows(keys.flow, clock),
    passwords: createPasswordHashes(logger, config.passwordCost),
    authenticator: createAuthenticator(deps),
    backupCodes: createBackupCodes(config),
    signIns: createSignIns(deps),
    limitGuesses: createGuessLimit(counters),
    limitCodeRequests: createCodeRequestLimit(counters),
    allowMail: createMailLimit(counters),
    slowdown: createAccountSlowdown(deps),
    outbox,
    notifyOwner: createNotifyOwner({ ...deps, outbox }),
    mailCodes: createMailCodes({ store, clock, keys: keys.flow }),
    findProvider: createFindProvider(deps),
    identifyByCode: createIdentifyByCode(deps),
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
