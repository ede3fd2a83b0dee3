/**
 * What this tab remembers of a trip to a provider, so that it takes no answer to a question it has
 * not asked: another page could lead here with a code of its own and sign a visitor in as somebody
 * else. Session storage belongs to the tab and to this origin.
 */
const loginKey = (state: string): string => `taskgate:oauth-login:${state}`;
const bindKey = 'taskgate:oauth-bind';

type PendingLogin = { provider: string; redirect: string };
type PendingBind = { provider: string; state: string };

export function rememberLogin(state: string, pending: PendingLogin): void {
  sessionStorage.setItem(loginKey(state), JSON.stringify(pending));
}

/** Telegram's widget carries no state of its own; gives a name of the trip for its way back. */
export function beginTelegramLogin(redirect: string): string {
  const state = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('');
  rememberLogin(state, { provider: 'telegram', redirect });
  return state;
}

/** Where to go after the sign-in that this tab began at this provider; null: it began none. */
export function findLogin(provider: string, state: string): string | null {
  const pending = parse(sessionStorage.getItem(loginKey(state)));
  if (pending?.provider !== provider) return null;
  return typeof pending.redirect === 'string' ? pending.redirect : '/';
}

/** An answer is sent once. */
export function forgetLogin(state: string): void {
  sessionStorage.removeItem(loginKey(state));
}

/** Marks a window that this page has opened and that is still blank, so of this origin. */
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
