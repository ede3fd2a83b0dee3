import type { Clock, Logger, SecretBox } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { AuthSettings, SettingsIn } from '../config.ts';
import type { Flows } from '../flows/flows.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { BindIdentity } from '../users/bind-identity.ts';
import { createBeginOAuth, type OAuthRequest, type OAuthTicket } from './begin-oauth.ts';
import { type Bindings, createBindings } from './bindings.ts';
import { type CustomProviders, createCustomProviders } from './custom-providers.ts';
import type { FindOrCreateUser } from './find-or-create-user.ts';
import { createFindProvider } from './find-provider.ts';
import { createFinishOAuth, type OAuthResult, type OAuthReturn } from './finish-oauth.ts';

/** Sign-in and binding through providers that speak OAuth 2.0 or OpenID Connect. */
export interface OAuth {
  begin(request: OAuthRequest): Promise<OAuthTicket>;
  finish(answer: OAuthReturn): Promise<OAuthResult>;
  readonly bindings: Bindings;
  readonly providers: CustomProviders;
}

export function createOAuth(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  upstream: Upstream;
  secretBox: SecretBox;
  settings: () => AuthSettings;
  settingsIn: SettingsIn;
  flows: Flows;
  completeLogin: CompleteLogin;
  bindIdentity: BindIdentity;
  findOrCreateUser: FindOrCreateUser;
  signIns: SignIns;
  notifyOwner: NotifyOwner;
}): OAuth {
  const parts = { ...deps, findProvider: createFindProvider(deps) };
  return {
    begin: createBeginOAuth(parts),
    finish: createFinishOAuth(parts),
    bindings: createBindings(deps),
    providers: createCustomProviders(deps),
  };
}
