import { err, ok, type Result, sentence } from '../kernel/index.ts';
import { AnswerBody } from './answer-body.ts';
import type { Connection, Exchange } from './connection.ts';
import { abortedFailure, brokenFailure, connectFailure, failure } from './failures.ts';
import type { Connections, Route } from './open-connections.ts';
import { type AnswerHead, InvalidAnswer } from './parse-answer.ts';
import type { UpstreamFailure } from './types.ts';
import type { Deadline, Deadlines } from './watch-deadlines.ts';
import type { WrittenRequest } from './write-request.ts';

export type Answer = { head: AnswerHead; body: AnswerBody };
/** `stale`: the vendor had closed the kept-alive connection; no byte of an answer was seen. */
export type SendFailure = UpstreamFailure & { stale: boolean };

type Settle = (result: Result<Answer, SendFailure>) => void;

/**
 * Sends one request and resolves when the answer's headers have arrived. The caller owns the body
 * that follows.
 */
export function sendOnce(
  { connections, deadlines }: { connections: Connections; deadlines: Deadlines },
  route: Route,
  request: WrittenRequest,
): Promise<Result<Answer, SendFailure>> {
  if (request.signal?.aborted) return Promise.resolve(err({ ...abortedFailure(true), stale: false }));
  return new Promise((resolve) => {
    new RequestExchange(deadlines, request, resolve).start(connections, route);
  });
}

/** One request on its way, until its answer has arrived completely. */
class RequestExchange implements Exchange {
  readonly #deadlines: Deadlines;
  readonly #request: WrittenRequest;
  readonly #settle: Settle;
  #isSettled = false;
  #isBodySent = false;
  #deadline: Deadline | undefined;
  #connection: Connection | undefined;
  #answer: AnswerBody | undefined;
  #giveUp: (() => void) | undefined;

  constructor(deadlines: Deadlines, request: WrittenRequest, settle: Settle) {
    this.#deadlines = deadlines;
    this.#request = request;
    this.#settle = settle;
  }

  start(connections: Connections, route: Route): void {
    const { signal } = this.#request;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#giveUp = connections.acquire(route, {
      onConnection: (connection) => {
        this.#connection = connection;
        connection.use(this);
      },
      onClosed: () => this.#fail(abortedFailure(true)),
    });
    if (this.#isSettled || this.#deadline) return;
    const ms = this.#request.connectTimeoutMs;
    this.#deadline = this.#deadlines.watch(ms, () =>
      this.#fail(failure('timeout', true, sentence('upstream.no_connection', { ms }))),
    );
  }

  onReady(): void {
    this.#deadline?.stop();
    const ms = this.#request.headersTimeoutMs;
    this.#deadline = this.#deadlines.watch(ms, () =>
      this.#fail(failure('timeout', false, sentence('upstream.no_answer', { ms }))),
    );
    const { method, bytes } = this.#request;
    this.#connection?.begin(method, bytes);
    if (this.#request.writeBody) void this.#writeBody(this.#request.writeBody);
    else this.#isBodySent = true;
  }

  onHead(head: AnswerHead): void {
    if (!this.#connection) return;
    this.#answer = new AnswerBody(this.#connection);
    this.#end(ok({ head, body: this.#answer }));
  }

  onBody(piece: Uint8Array): void {
    this.#answer?.push(piece);
  }

  onEnd(): boolean {
    this.#answer?.end();
    // After a complete answer the rest of the request body is not needed. Otherwise a vendor that
    // stops reading would hold the connection.
    return this.#isBodySent;
  }

  onFailure(error: unknown): void {
    const connection = this.#connection;
    if (this.#answer) {
      this.#answer.fail(error);
      return;
    }
    if (!this.#mayBeSent()) {
      this.#fail(connectFailure(error, connection?.hasConnected ?? false));
      return;
    }
    const isStale = connection?.isReused === true && !connection.hasAnswered && !(error instanceof InvalidAnswer);
    this.#fail(brokenFailure(error), isStale);
  }

  /** From then on it cannot be proven that the vendor saw nothing. */
  #mayBeSent = (): boolean => this.#connection?.isReady ?? false;

  #onAbort = (): void => this.#fail(abortedFailure(!this.#mayBeSent()));

  async #writeBody(write: NonNullable<WrittenRequest['writeBody']>): Promise<void> {
    const connection = this.#connection;
    if (!connection) return;
    try {
      await write(async (chunk) => {
        await connection.write(chunk);
        this.#deadline?.extend();
      });
      this.#isBodySent = true;
    } catch {
      // An answer that came before the end of the body is valid (a vendor may refuse an upload
      // early).
      this.#fail(failure('broken', !this.#mayBeSent(), sentence('upstream.body')));
    }
  }

  #fail(reason: UpstreamFailure, stale = false): void {
    if (this.#isSettled) return;
    this.#giveUp?.();
    const connection = this.#connection;
    this.#connection = undefined;
    this.#end(err({ ...reason, stale }));
    connection?.abandon();
  }

  #end(result: Result<Answer, SendFailure>): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#deadline?.stop();
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    this.#settle(result);
  }
}
