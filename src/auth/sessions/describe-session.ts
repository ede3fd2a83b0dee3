import type { Repositories, SessionRecord, UserRecord } from '../../store/ports/index.ts';
import { loadPanelUser, type PanelUser } from '../accounts/describe-user.ts';
import type { AccessTokens, SessionTokens } from '../tokens/access-tokens.ts';

/** `session` in the answer of every login and refresh. Times are Unix seconds. */
export type SessionView = {
  sid: string;
  current: boolean;
  login_method: string;
  ip: string;
  user_agent: string;
  created_at: number;
  last_active_at: number;
  expires_at: number;
};

/** The answer to a change of password or factor: a new access token; the refresh token stays. */
export type RotationBundle = {
  access_token: string;
  token_type: 'Bearer';
  access_expires_at: number;
  session: SessionView;
};

/** `data` of the unified login result. */
export type LoginBundle = RotationBundle & { user: PanelUser };

/**
 * What sign-in and refresh hand to the HTTP room: `bundle` goes into the body, the refresh token
 * into the cookie only.
 */
export type SignedIn = {
  kind: 'session';
  bundle: LoginBundle;
  refreshToken: string;
  /** Unix seconds. Both cookies expire with the session. */
  refreshExpiresAt: number;
};

export function describeSession(session: SessionRecord, currentSid: string): SessionView {
  return {
    sid: session.sid,
    current: session.sid === currentSid,
    login_method: session.loginMethod,
    ip: session.ip,
    user_agent: session.userAgent,
    created_at: session.createdAt,
    last_active_at: session.lastActiveAt,
    expires_at: session.expiresAt,
  };
}

/** Signs an access token for the session and builds the answer. */
export function bundleSession(accessTokens: AccessTokens, session: SessionRecord): RotationBundle {
  const { token, expiresAt } = accessTokens.sign(
    {
      userId: session.userId,
      sid: session.sid,
      userAuthVersion: session.userAuthVersion,
      sessionVersion: session.version,
    },
    session.expiresAt,
  );
  return {
    access_token: token,
    token_type: 'Bearer',
    access_expires_at: expiresAt,
    session: describeSession(session, session.sid),
  };
}

export async function describeSignIn(
  { store, tokens }: { store: Repositories; tokens: Pick<SessionTokens, 'access'> },
  session: SessionRecord,
  user: UserRecord,
): Promise<LoginBundle> {
  return { ...bundleSession(tokens.access, session), user: await loadPanelUser(store, user) };
}
