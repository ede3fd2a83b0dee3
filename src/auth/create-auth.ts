import { createAdministration } from './administration/administration.ts';
import { createAuthenticateApiKey } from './api-keys/authenticate-api-key.ts';
import { createDeleteApiKey, createUpdateApiKey } from './api-keys/change-api-key.ts';
import { createCreateApiKey } from './api-keys/create-api-key.ts';
import { createListApiKeys, createReadApiKey } from './api-keys/list-api-keys.ts';
import { createRotateWebhookSecret } from './api-keys/rotate-webhook-secret.ts';
import type { Auth, AuthDeps } from './auth.ts';
import { createAuthenticateOptional, createAuthenticatePanel } from './authenticate-panel.ts';
import { createChangeSecurity } from './change-security.ts';
import { deriveSessionKeys } from './derive-keys.ts';
import { orUnavailable } from './errors.ts';
import { createFlows } from './flows/flows.ts';
import { createGuessLimit } from './limits/limit-guesses.ts';
import { createModelRequestLimit } from './limits/limit-model-requests.ts';
import { createRequestLimit, createUserLimit } from './limits/limit-requests.ts';
import { createAccountSlowdown } from './limits/slow-account.ts';
import { createCompleteLogin } from './login/complete-login.ts';
import { createFinishTwoFactorLogin } from './login/finish-two-factor-login.ts';
import { createChangeAddress } from './mail/change-address.ts';
import { createCodeRequestLimit, createMailLimit } from './mail/limit-mails.ts';
import { createMailCodes } from './mail/mail-codes.ts';
import { createNotifyOwner } from './mail/notify-owner.ts';
import { createOutbox } from './mail/outbox.ts';
import { createTryMail } from './mail/try-mail.ts';
import { createFindOrCreateUser } from './oauth/find-or-create-user.ts';
import { createOAuth } from './oauth/oauth.ts';
import { createCheckAssertion } from './passkeys/check-assertion.ts';
import { createConfirmWithPasskey } from './passkeys/confirm-with-passkey.ts';
import { createLogInWithPasskey } from './passkeys/log-in-with-passkey.ts';
import { createManagePasskeys } from './passkeys/manage-passkeys.ts';
import { createRegisterPasskey } from './passkeys/register-passkey.ts';
import { createChangePassword } from './passwords/change-password.ts';
import { createLogIn } from './passwords/log-in.ts';
import { createPasswordHashes } from './passwords/password-hashes.ts';
import { createResetByMail } from './passwords/reset-by-mail.ts';
import { createResetPassword } from './passwords/reset-password.ts';
import { createPersonalTokens } from './personal-tokens/manage-personal-token.ts';
import { createAllowedProofMethods } from './proofs/allowed-methods.ts';
import { createDescribeProof } from './proofs/describe-proof.ts';
import { createProveIdentity } from './proofs/prove-identity.ts';
import { createSecurityProofs } from './proofs/security-proofs.ts';
import { createAffiliateCode } from './registration/affiliate-code.ts';
import { createAccountCreation } from './registration/create-account.ts';
import { createRegister } from './registration/register.ts';
import { createSendVerification } from './registration/send-verification.ts';
import { createVerifyCaptcha } from './registration/verify-captcha.ts';
import { createFindOwnSession } from './sessions/find-own-session.ts';
import { createListSessions } from './sessions/list-sessions.ts';
import { createLogOut } from './sessions/log-out.ts';
import { createUserSessionManagement } from './sessions/manage-user-sessions.ts';
import { createRefreshTokens } from './sessions/refresh-tokens.ts';
import { createRevokeOtherSessions, createRevokeSession } from './sessions/revoke-sessions.ts';
import { createRotateRefresh } from './sessions/rotate-refresh.ts';
import { createSessionGate } from './sessions/session-gate.ts';
import { createSetup } from './setup/complete-setup.ts';
import { createCreateRoot } from './setup/create-root.ts';
import { createSignIns } from './sign-ins/record-sign-ins.ts';
import { createBindTelegram } from './telegram/bind-telegram.ts';
import { createLogInWithTelegram } from './telegram/log-in-with-telegram.ts';
import { createAccessTokens } from './tokens/access-tokens.ts';
import { createAuthenticator } from './two-factor/authenticator.ts';
import { createBackupCodes } from './two-factor/backup-codes.ts';
import { createConsumeCode } from './two-factor/consume-code.ts';
import { createTwoFactor } from './two-factor/two-factor.ts';
import type { PanelPrincipal } from './types.ts';
import { createBindIdentity } from './users/bind-identity.ts';
import { createOwnAccount } from './users/edit-own-account.ts';
import { loadPanelUser } from './users/load-factors.ts';
import { createAccessWatcher } from './watch-access.ts';
import { createIdentifyByCode } from './wechat/identify-by-code.ts';
import { createReadQrCode } from './wechat/read-qr-code.ts';
import { createWeChat } from './wechat/wechat.ts';

export function createAuth(deps: AuthDeps): Auth {
  const { store, counters, clock, logger, config } = deps;
  const keys = deriveSessionKeys(config.sessionSecrets);
  const allowedProofMethods = createAllowedProofMethods(deps);
  const createAccount = createAccountCreation(deps);
  const outbox = createOutbox(deps);
  const notifyOwner = createNotifyOwner({ ...deps, outbox });
  const basics = {
    ...deps,
    outbox,
    notifyOwner,
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
    bindIdentity: createBindIdentity({ ...deps, notifyOwner }),
    identifyByCode: createIdentifyByCode(deps),
    mailCodes: createMailCodes({ store, clock, keys: keys.flow }),
    limitCodeRequests: createCodeRequestLimit(counters),
    allowLetter: createMailLimit(counters),
    verifyCaptcha: createVerifyCaptcha(deps),
    createAccount,
  };
  const room = {
    ...basics,
    slowdown: createAccountSlowdown(basics),
    findOwnSession: createFindOwnSession(basics),
    completeLogin: createCompleteLogin(basics),
    changeSecurity: createChangeSecurity(basics),
    consumeCode: createConsumeCode(basics),
    findOrCreateUser: createFindOrCreateUser(basics),
  };

  /** The operation with the room's one answer to trouble with the store. */
  const guarded =
    <A extends unknown[], T>(operation: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      orUnavailable(logger, () => operation(...args));

  const critical = { limit: config.criticalLimit, windowSeconds: config.criticalLimitSeconds };
  const createRoot = createCreateRoot(room);
  const setup = createSetup({ store, createRoot });
  const oversight = createUserSessionManagement(room);
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
  const changeAddress = createChangeAddress(room);
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
      changeStatusOrRole: guarded(administration.changeStatusOrRole),
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
        sendCode: guarded(changeAddress.sendCode),
        bind: guarded(changeAddress.bind),
        unbind: guarded(changeAddress.unbind),
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
