import { UserError } from '../../api/api-error.ts';
import type { OAuthTicket } from '../../api/types.ts';
import type { Session } from '../../session/session.ts';
import { markPopup } from './oauth-sign-in.ts';

/** Sent by the popup to the page that opened it: the provider's answer, not interpreted. */
export type PopupMessage = { kind: 'taskgate:oauth'; provider: string; query: string };

/** The popup was blocked, or closed before the provider answered. */
const popupClosedError = () => new UserError('home.identities.closed');

const closedCheckMs = 500;

/**
 * Binds a provider's identity to the signed-in account in a popup. The popup holds no token: it
 * passes the answer on, and only this page calls the API. Call it in a click handler, otherwise the
 * browser blocks the popup.
 * @throws UserError if the popup is gone, ApiError if the API refuses.
 */
export async function bindInPopup(session: Session, provider: string): Promise<void> {
  const popup = window.open('about:blank', '_blank', 'popup,width=560,height=720');
  if (popup === null) throw popupClosedError();
  try {
    const ticket = await session.send<OAuthTicket>({
      method: 'POST',
      path: '/api/oauth/state',
      body: { provider, intent: 'bind' },
    });
    // A closed window has no storage to mark.
    if (popup.closed) throw popupClosedError();
    markPopup(popup, { provider, state: ticket.flow_token });
    const answer = waitForCallback(popup, provider, ticket.flow_token);
    popup.location.replace(ticket.authorization_url);
    const query = await answer;
    await session.send({ method: 'GET', path: `/api/oauth/${encodeURIComponent(provider)}${query}` });
  } finally {
    popup.close();
  }
}

/**
 * Waits for the query that the provider sent to this popup on this origin, for this provider and
 * state.
 */
function waitForCallback(popup: Window, provider: string, state: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const finish = (then: () => void): void => {
      clearInterval(closedCheck);
      window.removeEventListener('message', listen);
      then();
    };
    const listen = ({ origin, source, data }: MessageEvent): void => {
      if (origin !== window.location.origin || source !== popup || !isPopupMessage(data)) return;
      if (data.provider !== provider || new URLSearchParams(data.query).get('state') !== state) return;
      finish(() => resolve(data.query));
    };
    const closedCheck = setInterval(() => {
      if (popup.closed) finish(() => reject(popupClosedError()));
    }, closedCheckMs);
    window.addEventListener('message', listen);
  });
}

function isPopupMessage(value: unknown): value is PopupMessage {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, provider, query } = value as Partial<PopupMessage>;
  return kind === 'taskgate:oauth' && typeof provider === 'string' && typeof query === 'string';
}
