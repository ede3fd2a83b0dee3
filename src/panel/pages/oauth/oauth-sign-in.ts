import type { GatewayStatus } from '../../api/types.ts';

type OfferedProvider = { slug: string; name: string };

const brands = { github: 'GitHub', discord: 'Discord', linuxdo: 'LinuxDO', telegram: 'Telegram' } as const;

/** The providers for sign-in, in the order of their buttons. */
export function listProviders(status: GatewayStatus): OfferedProvider[] {
  return [
    ...(status.github_oauth ? [{ slug: 'github', name: brands.github }] : []),
    ...(status.discord_oauth ? [{ slug: 'discord', name: brands.discord }] : []),
    ...(status.linuxdo_oauth ? [{ slug: 'linuxdo', name: brands.linuxdo }] : []),
    ...(status.oidc_enabled ? [{ slug: 'oidc', name: status.oidc_display_name }] : []),
    ...status.custom_oauth_providers.map(({ slug, name }) => ({ slug, name })),
  ];
}

/** What a service is called, whether it is offered or not. */
export const nameProvider = (slug: string, status: GatewayStatus | undefined): string =>
  (status && listProviders(status).find((provider) => provider.slug === slug)?.name) ??
  (brands as Readonly<Record<string, string>>)[slug] ??
  slug;

/**
 * OAuth requests that this tab has started. The tab accepts no other answer: otherwise another page
 * could send a code of its own and sign the visitor in to another account (login CSRF). Session
 * storage belongs to this tab and origin.
 */
const loginKey = (state: string): string => `taskgate:oauth-login:${state}`;
const bindKey = 'taskgate:oauth-bind';

type PendingLogin = { provider: string; redirect: string };
type PendingBind = { provider: string; state: string };

export function rememberLogin(state: string, pending: PendingLogin): void {
  sessionStorage.setItem(loginKey(state), JSON.stringify(pending));
}

/** Telegram's widget carries no state, so the state becomes part of its return path. */
export function beginTelegramLogin(redirect: string): string {
  const state = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('');
  rememberLogin(state, { provider: 'telegram', redirect });
  return state;
}

/**
 * The redirect of the sign-in that this tab started with this provider; null if it started none.
 */
export function findLogin(provider: string, state: string): string | null {
  const pending = parse(sessionStorage.getItem(loginKey(state)));
  if (pending?.provider !== provider) return null;
  return typeof pending.redirect === 'string' ? pending.redirect : '/';
}

/** Call it when the answer is sent: an answer is used once. */
export function forgetLogin(state: string): void {
  sessionStorage.removeItem(loginKey(state));
}

/** Marks a popup opened by this page while it is still blank and therefore of this origin. */
export function markPopup(popup: Window, pending: PendingBind): void {
  popup.sessionStorage.setItem(bindKey, JSON.stringify(pending));
}

export function isMarkedPopup(provider: string, state: string): boolean {
  const pending = parse(sessionStorage.getItem(bindKey));
  return pending?.provider === provider && pending.state === state && state !== '';
}

function parse(text: string | null): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
