import { type Sentence, type SentenceParams, toSentence } from './sentences.ts';

/**
 * What kind of failure it was. Rooms never use HTTP statuses: they name a kind, and only
 * `http/responses/errors.ts` maps kinds to statuses.
 */
export type ErrorKind =
  | 'invalid' // the request itself is wrong
  | 'unauthenticated'
  | 'forbidden'
  | 'out_of_quota' // allowed, but not paid for
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'gone'
  | 'too_large'
  | 'address_too_long'
  | 'unsupported_media'
  | 'unprocessable' // well-formed, but its content cannot be accepted (a plugin that does not compile)
  | 'rate_limited'
  | 'upstream_failed' // the vendor answered badly
  | 'upstream_timeout'
  | 'unavailable' // try again later
  | 'internal';

type ErrorOptions = {
  /**
   * Replaces the catalogue's message. Sent to the caller: never a secret, never a stack. A sentence
   * of a catalogue can be said in every language of the panel.
   */
  message?: string | Sentence | undefined;
  /** The field or parameter at fault, if there is one. */
  param?: string;
  /** Structured facts for the caller. */
  details?: unknown;
  /** Seconds after which a retry makes sense; becomes `Retry-After`. */
  retryAfterSeconds?: number;
  /** Logged, never sent. */
  cause?: unknown;
  /**
   * What clients are told about repeating the request. False: a repeat could charge twice. True:
   * nothing was sent. Undefined: clients follow their own rules.
   */
  shouldRetry?: boolean | undefined;
  /** An earlier request with the same idempotency key failed with this error. */
  replayed?: boolean;
};

/** An expected failure. `code` is `room.reason`, for instance `auth.invalid_credentials`. */
export class AppError extends Error {
  readonly code: string;
  readonly kind: ErrorKind;
  /** The reason of the message's sentence; the code itself for the catalogue's message. */
  readonly reason: string;
  readonly params: SentenceParams;
  readonly param: string | undefined;
  readonly details: unknown;
  readonly retryAfterSeconds: number | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly replayed: boolean;
  /** Whether a line of the log says it already, with more than the request knows. */
  isLogged = false;

  constructor(code: string, kind: ErrorKind, options: ErrorOptions & { message: string | Sentence }) {
    const { message } = options;
    const said = typeof message === 'string' ? undefined : message;
    super(
      typeof message === 'string' ? message : message.message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'AppError';
    this.code = code;
    this.kind = kind;
    this.reason = said?.reason ?? code;
    this.params = said?.params ?? {};
    this.param = options.param;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.shouldRetry = options.shouldRetry;
    this.replayed = options.replayed ?? false;
  }

  /** This failure with the advice not to repeat the request. */
  withoutRetry(): AppError {
    const { code, kind, param, details, cause, replayed } = this;
    const message = this.reason === code ? this.message : toSentence(this);
    const error = new AppError(code, kind, {
      message,
      ...(param === undefined ? {} : { param }),
      details,
      cause,
      replayed,
      shouldRetry: false,
    });
    error.isLogged = this.isLogged;
    return error;
  }
}

type Catalogue = Record<string, readonly [kind: ErrorKind, message: string]>;

/**
 * Declares a room's errors once: `const authErrors = defineErrors('auth', { invalid_credentials:
 * ['unauthenticated', 'The username or the password is wrong.'] })`, then `throw
 * authErrors.invalid_credentials()`.
 */
export function defineErrors<C extends Catalogue>(
  room: string,
  catalogue: C,
): { readonly [K in keyof C]: (options?: ErrorOptions) => AppError } {
  const factories: Record<string, (options?: ErrorOptions) => AppError> = {};
  for (const [reason, [kind, message]] of Object.entries(catalogue)) {
    factories[reason] = (options) =>
      new AppError(`${room}.${reason}`, kind, { ...options, message: options?.message ?? message });
  }
  return factories as { readonly [K in keyof C]: (options?: ErrorOptions) => AppError };
}

/**
 * A value, or the reason there is none. For faults of a plugin or an upstream: those are data, not
 * exceptions.
 */
export type Result<T, E> = { ok: true; value: T } | { ok: false; error: E };

export const ok = <T>(value: T): { ok: true; value: T } => ({ ok: true, value });
export const err = <E>(error: E): { ok: false; error: E } => ({ ok: false, error });

/**
 * An expected failure of a command or a start that its message explains to the operator, with what
 * to do. It is shown without a stack.
 */
export class OperatorError extends Error {
  /** Where the panel says it too, in its reader's language. */
  readonly said: Sentence | undefined;

  constructor(message: string | Sentence, options?: ConstructorParameters<typeof Error>[1]) {
    super(typeof message === 'string' ? message : message.message, options);
    this.said = typeof message === 'string' ? undefined : toSentence(message);
  }
}

/** What to do, by the system's code for a write that failed. */
const WRITE_ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'run the command as a user who may write there',
  EPERM: 'run the command as a user who may write there',
  EROFS: 'its file system is read-only; choose another folder',
  ENOSPC: 'free some space on its disk',
  EDQUOT: 'its user has used up the disk quota',
};

const systemCode = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

/** A command could not write a file: why, and what to do. */
export function unwritable(path: string, error: unknown): OperatorError {
  const code = systemCode(error);
  if (code === 'EEXIST') return new OperatorError(`${path} is there already`);
  const advice = WRITE_ADVICE[code];
  return new OperatorError(`${path} cannot be written (${code})${advice === undefined ? '' : `: ${advice}`}`);
}

/** A command could not read a file. */
export const unreadable = (path: string, error: unknown): OperatorError =>
  new OperatorError(`${path} cannot be read (${systemCode(error)})`);
