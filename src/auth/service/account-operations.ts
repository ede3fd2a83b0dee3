import type { Clock, Logger, SecretBox } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { ensureAffiliateCode } from '../accounts/create-account.ts';
import { describeBudgets } from '../accounts/validate-budgets.ts';
import { changeQuota } from '../administration/change-quota.ts';
import { createUser } from '../administration/create-user.ts';
import { deleteByOperator, deleteUser } from '../administration/delete-user.ts';
import {
  changeStatusOrRole,
  changeUserKeyStatus,
  deleteUserKey,
  editUser,
  revokeLinks,
} from '../administration/edit-user.ts';
import { findAccount, findKeyNames, findUserNames, listAccounts } from '../administration/list-accounts.ts';
import { resetBinding, resetPasskeys, resetPersonalToken, resetTwoFactor } from '../administration/reset-factors.ts';
import { listApiKeys, readApiKey } from '../api-keys/describe-api-key.ts';
import { createApiKey, deleteApiKey, updateApiKey } from '../api-keys/edit-api-key.ts';
import { endFormerApiKey, rotateApiKey } from '../api-keys/rotate-api-key.ts';
import { rotateWebhookSecret } from '../api-keys/rotate-webhook-secret.ts';
import type { AuthConfig, AuthSettings, SettingsIn } from '../config.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import type { RequestLimit } from '../limits/limit-requests.ts';
import type { MailCodes, MailLimit } from '../mail/mail-codes.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import {
  createProvider,
  deleteProvider,
  discoverProvider,
  getProvider,
  listProviders,
  listPublicProviders,
  updateProvider,
} from '../oauth/custom-providers.ts';
import { tryCustomProvider } from '../oauth/try-custom-provider.ts';
import { editBalanceAlert, readBalanceAlert, rotateBalanceAlertSecret } from '../own-account/balance-alert.ts';
import { type AddressDeps, bindAddress, sendAddressCode, unbindAddress } from '../own-account/change-address.ts';
import { confirmExport, deleteOwnAccount, editOwnAccount, revokeOwnLinks } from '../own-account/edit-own-account.ts';
import { deleteTaskView, listTaskViews, saveTaskView } from '../own-account/task-views.ts';
import { finishResetByMail, type ResetDeps, requestResetByMail, resetPassword } from '../passwords/reset-password.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import { register } from '../registration/register.ts';
import { sendVerification } from '../registration/send-verification.ts';
import { createRoot, createSetup } from '../registration/set-up.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { GuardedAuth } from './auth.ts';

/** Accounts and their API keys, by their owners and by administrators. */
export function accountOperations(ctx: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  settings: () => AuthSettings;
  secretBox: SecretBox;
  sessions: SessionRegistry;
  proofs: SecurityProofs;
  passwords: PasswordHashes;
  notifyOwner: NotifyOwner;
}): Pick<GuardedAuth, 'account' | 'balanceAlert' | 'administration' | 'apiKeys'> {
  return {
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

/** New accounts, the first one included. */
export function registrationOperations(ctx: {
  store: Store;
  clock: Clock;
  logger: Logger;
  upstream: Upstream;
  config: AuthConfig;
  settings: () => AuthSettings;
  passwords: PasswordHashes;
  limitCodeRequests: RequestLimit;
  allowMail: MailLimit;
  mailQueue: MailQueue;
  mailCodes: MailCodes;
}): Pick<GuardedAuth, 'setup' | 'registration'> {
  return {
    setup: {
      ...createSetup(ctx),
      createRoot: (root) => createRoot(ctx, root),
    },
    registration: {
      register: (registration) => register(ctx, registration),
      sendVerification: (request) => sendVerification(ctx, request),
      affiliateCode: (principal) => ensureAffiliateCode(ctx, principal),
    },
  };
}

/** The email address of an account. */
export function addressOperations(ctx: AddressDeps): Pick<GuardedAuth, 'mail'> {
  return {
    mail: {
      address: {
        sendCode: (principal, request) => sendAddressCode(ctx, principal, request),
        bind: (principal, request) => bindAddress(ctx, principal, request),
        unbind: (principal, request) => unbindAddress(ctx, principal, request),
      },
    },
  };
}

/** The providers that root added. */
export function providerOperations(ctx: {
  store: Store;
  clock: Clock;
  secretBox: SecretBox;
  settings: () => AuthSettings;
  settingsIn: SettingsIn;
  upstream: Upstream;
}): GuardedAuth['oauth']['providers'] {
  return {
    list: () => listProviders(ctx),
    get: (id) => getProvider(ctx, id),
    create: (fields) => createProvider(ctx, fields),
    update: (id, change) => updateProvider(ctx, id, change),
    delete: (id) => deleteProvider(ctx, id),
    discover: (address) => discoverProvider(ctx, address),
    test: (id) => tryCustomProvider(ctx, id),
    listPublic: () => listPublicProviders(ctx),
  };
}

/** Passwords that are reset, by a mailed link and by the command line. */
export function resetOperations(ctx: ResetDeps): Pick<GuardedAuth['passwords'], 'byMail' | 'reset'> {
  return {
    byMail: {
      request: (request) => requestResetByMail(ctx, request),
      finish: (reset) => finishResetByMail(ctx, reset),
    },
    reset: (reset) => resetPassword(ctx, reset),
  };
}
