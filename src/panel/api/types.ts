/** What the panel reads of the API's answers. Times are unix seconds, quota is an integer, 500,000 of it are one US dollar. */

export type User = {
  id: number;
  username: string;
  display_name: string;
  role: number;
  group: string;
  quota: number;
  used_quota: number;
  request_count: number;
};

export type LoginSession = {
  sid: string;
  login_method: string;
  ip: string;
  user_agent: string;
  created_at: number;
  expires_at: number;
};

/** The answer to a login and to a refresh. */
export type SessionBundle = { access_token: string; user: User; session: LoginSession };

/** `status` is true once a root account exists. */
export type SetupState = { status: boolean };

export type GatewayStatus = { version: string; server_address?: string };
