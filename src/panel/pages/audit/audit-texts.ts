import type { TextKey } from '../../i18n/texts.ts';

/** What somebody did, as the second half of a sentence that begins with his name. */
export const actionTexts: Readonly<Record<string, TextKey>> = {
  'api_key.create': 'audit.action.api_key.create',
  'api_key.update': 'audit.action.api_key.update',
  'api_key.delete': 'audit.action.api_key.delete',
  'api_key.webhook_secret': 'audit.action.api_key.webhook_secret',
  'channel.create': 'audit.action.channel.create',
  'channel.update': 'audit.action.channel.update',
  'channel.delete': 'audit.action.channel.delete',
  'channel.key_view': 'audit.action.channel.key_view',
  'channel.test': 'audit.action.channel.test',
  'oauth_provider.create': 'audit.action.oauth_provider.create',
  'oauth_provider.update': 'audit.action.oauth_provider.update',
  'oauth_provider.delete': 'audit.action.oauth_provider.delete',
  'option.set': 'audit.action.option.set',
  'option.test': 'audit.action.option.test',
  'plugin.activate': 'audit.action.plugin.activate',
  'plugin.delete': 'audit.action.plugin.delete',
  'plugin.install': 'audit.action.plugin.install',
  'plugin.narrow': 'audit.action.plugin.narrow',
  'plugin.status': 'audit.action.plugin.status',
  'plugin.upload': 'audit.action.plugin.upload',
  'price.save': 'audit.action.price.save',
  'price.delete': 'audit.action.price.delete',
  'setup.complete': 'audit.action.setup.complete',
  'task.submit': 'audit.action.task.submit',
  'task.retry': 'audit.action.task.retry',
  'task.cancel': 'audit.action.task.cancel',
  'task.webhook_redeliver': 'audit.action.task.webhook_redeliver',
  'user.create': 'audit.action.user.create',
  'user.update': 'audit.action.user.update',
  'user.delete': 'audit.action.user.delete',
  'user.quota': 'audit.action.user.quota',
  'user.enable': 'audit.action.user.enable',
  'user.disable': 'audit.action.user.disable',
  'user.promote': 'audit.action.user.promote',
  'user.demote': 'audit.action.user.demote',
  'user.unbind': 'audit.action.user.unbind',
  'user.two_factor.reset': 'audit.action.user.two_factor.reset',
  'user.passkey.reset': 'audit.action.user.passkey.reset',
  'user.token.revoke': 'audit.action.user.token.revoke',
  'user.email_bind': 'audit.action.user.email_bind',
  'user.email_unbind': 'audit.action.user.email_unbind',
  'user.identity.bind': 'audit.action.user.identity.bind',
  'user.identity.unbind': 'audit.action.user.identity.unbind',
  'user.passkey.register': 'audit.action.user.passkey.register',
  'user.passkey.rename': 'audit.action.user.passkey.rename',
  'user.passkey.delete': 'audit.action.user.passkey.delete',
  'user.password': 'audit.action.user.password',
  'user.password_reset': 'audit.action.user.password_reset',
  'user.links.revoke': 'audit.action.user.links.revoke',
  'user.profile': 'audit.action.user.profile',
  'user.register': 'audit.action.user.register',
  'user.session.revoke': 'audit.action.user.session.revoke',
  'user.sessions.revoke': 'audit.action.user.sessions.revoke',
  'user.token.create': 'audit.action.user.token.create',
  'user.token.delete': 'audit.action.user.token.delete',
};

/**
 * What happened at a sign-in, as a whole sentence: whoever failed is not the account that they
 * tried.
 */
export const signInTexts: Readonly<Record<string, TextKey>> = {
  'auth.login': 'audit.signIn.login',
  'auth.login_failed': 'audit.signIn.login_failed',
  'auth.locked': 'audit.signIn.locked',
  'auth.factor_failed': 'audit.signIn.factor_failed',
  'auth.refresh_reuse': 'audit.signIn.refresh_reuse',
  'auth.logout': 'audit.signIn.logout',
};

/** By which way it was done. */
export const methodTexts: Readonly<Record<string, TextKey>> = {
  session: 'audit.method.session',
  access_token: 'audit.method.access_token',
  cli: 'audit.method.cli',
  setup: 'audit.method.setup',
  registration: 'audit.method.registration',
  mailed_link: 'audit.method.mailed_link',
  password: 'audit.method.password',
  '2fa': 'audit.method.2fa',
  passkey: 'audit.method.passkey',
  telegram: 'audit.method.telegram',
  wechat: 'audit.method.wechat',
};

/** What actions can be narrowed to: their beginnings. */
export const areaTexts: Readonly<Record<string, TextKey>> = {
  auth: 'audit.area.auth',
  channel: 'audit.area.channel',
  plugin: 'audit.area.plugin',
  price: 'audit.area.price',
  option: 'audit.area.option',
  oauth_provider: 'audit.area.oauth_provider',
  user: 'audit.area.user',
  api_key: 'audit.area.api_key',
  task: 'audit.area.task',
  setup: 'audit.area.setup',
};
