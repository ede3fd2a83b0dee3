/**
 * The types that the steps of a request share: route → access → body → answer. This file imports no
 * behaviour.
 */
import type {
  ApiPrincipal,
  DecidingIp,
  PanelPrincipal,
  RateLimitState,
  RequestOrigin,
  RequestPayer,
} from '../../auth/index.ts';
import type { AppError, Logger } from '../../kernel/index.ts';
import type { BodyLimitName } from '../bodies/body-limits.ts';
import type { JsonBody } from '../bodies/read-json.ts';
import type { AccessLevel, UserLimitScope } from './access-levels.ts';

/**
 * The connection of a request, as the listener knows it. `keepOpen` removes the connection's idle
 * timeout and returns a function that restores it.
 */
export type Peer = {
  address: string;
  keepOpen: () => () => void;
  /** It came to the listener that serves results alone. */
  onResultsListener?: boolean;
};

/** Answers one request; never rejects. */
export type RequestHandler = (request: Request, peer: Peer) => Promise<Response>;

/** What is known of a request once it is answered. `route`: a declared pattern, else `none`. */
export type Answered = { method: string; route: string; status: number; seconds: number; requestId: string };

/** Runs work as part of a request: what it logs, also deep below, has the id. */
export type InRequest = <T>(requestId: string, work: () => T) => T;

/** Records requests as spans of traces. It neither throws nor takes time. */
export type RequestTracer = {
  run(request: Request, handle: () => Promise<Response>): Promise<Response>;
  /** Called within `run`. */
  answered(answer: Answered): void;
};

/** A route with what it declares: access, limits, body. */
export type DeclaredRoute = {
  readonly method: string;
  /** As declared, with `:name` segments. */
  readonly pattern: string;
  readonly access: AccessLevel;
  readonly takesBody: boolean;
  readonly bodyLimit: BodyLimitName;
  /** Counted by the Critical limiter: guessing or flooding here does harm. */
  readonly critical: boolean;
  /** Counted by a Critical limiter per signed-in user, in this scope. */
  readonly perUser?: UserLimitScope;
  /** Counted by the user's limit of model requests. */
  readonly modelRequest: boolean;
  /**
   * An API key whose budget is used up may still call this route. Default: true for GET, HEAD,
   * DELETE, what cancels, and agents.
   */
  readonly reads?: boolean;
};

/** What the pipeline knows of one request before a controller sees it. */
export type RequestScope = {
  readonly requestId: string;
  readonly origin: RequestOrigin;
  /** Adds the request id to each line. */
  readonly log: Logger;
  /**
   * Removes the idle timeout of this connection: for answers that stream or take minutes. A handler
   * that streams events calls the returned function when the stream ends.
   */
  readonly keepOpen: () => () => void;
  /** The route, set once it is found. */
  route: DeclaredRoute;
  /** The request is a HEAD. Its handler runs as GET and need not open a body. */
  readonly headersOnly: boolean;
  panel?: PanelPrincipal;
  api?: ApiPrincipal;
  /** The JSON of a panel request, once read. Its files are removed after the answer. */
  body?: JsonBody;
  /** Set by the limit of model requests. */
  rateLimit?: RateLimitState;
};

/** Checks credentials. `authorization` is the `Authorization` header as sent. */
export type Authenticators = {
  authenticatePanel(authorization: string | undefined): Promise<PanelPrincipal>;
  authenticateApiKey(
    authorization: string | undefined,
    use: { origin: RequestOrigin; purpose: 'submit' | 'read'; idempotencyKey?: string | null },
  ): Promise<ApiPrincipal>;
};

/** Each function counts one request and throws when there were too many. */
export type RequestLimits = {
  /** All of `/api`, per address. */
  api(ip: DecidingIp): Promise<void>;
  /** All routes marked `critical` together, per address. */
  critical(ip: DecidingIp): Promise<void>;
  /** All routes of one scope together, per user. */
  user(userId: number, scope: UserLimitScope): Promise<void>;
  /**
   * All routes marked `modelRequest` together, by the limits of key, user and group. Call the
   * returned function after an answer with a status below 400.
   */
  modelRequests(payer: RequestPayer, report: (state: RateLimitState) => void): Promise<() => Promise<void>>;
};

/** A path of a plugin, opened for one request. */
export type NativePathHandler = {
  /** The path's methods; none where no route has it. */
  methods: readonly string[];
  /**
   * The response to a failure of this request, in the vendor's format where the plugin has one.
   * Never rejects.
   */
  presentError(error: AppError, request: Request, scope: RequestScope): Promise<Response>;
  /** Call this once the request is answered. */
  release(): void;
} & (
  | { route: DeclaredRoute; answer(request: Request, scope: RequestScope): Promise<Response> }
  | { route?: undefined }
);

/** Finds the plugin whose path this is. Without a `route`, it does not serve this request. */
export type FindNativePath = (request: Request, path: string) => NativePathHandler | undefined;
