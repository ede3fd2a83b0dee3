import type { Routes } from '../../http/index.ts';

/**
 * What the panel reads of the API's answers, taken from the server's routes: a change there that the panel does not follow fails
 * the type check. Times are unix seconds; quota is an integer, 500,000 of it are one US dollar.
 */
type Api = Routes['~Routes']['api'];
type DataOf<Route extends { response: { 200: unknown } }> = Route['response'][200] extends { data: infer Data }
  ? Data
  : never;

/** `status` is true once a root account exists. */
export type SetupState = DataOf<Api['setup']['get']>;
export type GatewayStatus = DataOf<Api['status']['get']>;
/** The answer to a password: a session, or the step of the second factor. */
export type LoginAnswer = DataOf<Api['user']['login']['post']>;
/** Where to go for a sign-in or a binding at a provider. */
export type OAuthTicket = DataOf<Api['oauth']['state']['post']>;
/** The answer to a finished login and to a refresh. */
export type SessionBundle = DataOf<Api['user']['auth']['refresh']['post']>;
export type User = DataOf<Api['user']['self']['get']>;
export type LoginSession = SessionBundle['session'];
