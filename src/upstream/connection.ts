import type { Socket } from 'node:net';
import { createByteBuffer, detachBuffer } from '../kernel/index.ts';
import { type AnswerHead, createAnswerParser, InvalidAnswer } from './parse-answer.ts';

/** One request on a connection, until its answer is complete. */
export interface Exchange {
  /** The request may be written now; called at once on a connection that is open already. */
  onReady(): void;
  onHead(head: AnswerHead): void;
  onBody(piece: Uint8Array): void;
  /** Says whether the whole request has been sent: if not, the connection cannot be used again. */
  onEnd(): boolean;
  /** The connection is gone. `error` is absent when the vendor closed it. */
  onFailure(error: unknown): void;
}

type Owner = {
  onIdle(connection: Connection, keepForMs: number): void;
  onClosed(connection: Connection): void;
};

/** From this size on, a chunk is given back at once instead of waiting for the collector. */
const LARGE_CHUNK = 16 * 1024;

/** Smaller pieces of one chunk are passed on together: there may be a hundred thousand of them. */
const SMALL_PIECE = 1024;

/** Opens the way to a host. `onConnected`: the host is reached, and only TLS is left. */
export type DialHost = (signal: AbortSignal, onConnected: () => void) => Promise<Socket>;

/** One connection to a vendor. It carries one request at a time. */
export class Connection {
  /** The vendor was reached. */
  hasConnected = false;
  /** Connected, TLS included: from then on a byte may have been sent. */
  isReady = false;
  /** An answer came over it before. */
  isReused = false;
  /** A byte of the current answer was seen. */
  hasAnswered = false;
  /** When the connection stops waiting for another request (monotonic milliseconds). */
  idleUntilMs = 0;
  #exchange: Exchange | undefined;
  #keepForMs = 0;
  #isClosed = false;
  #isPaused = false;
  #failWrite: ((error: Error) => void) | undefined;
  /** Absent while the way to the vendor is being opened. */
  #socket: Socket | undefined;
  readonly #giveUp = new AbortController();
  readonly #owner: Owner;
  readonly #parser = createAnswerParser({
    onHead: (head) => {
      this.#keepForMs = head.keepForMs;
      this.#exchange?.onHead(head);
    },
    onBody: (piece) => this.#take(piece),
    // Only `#receive` knows whether more bytes follow, which no request has asked for.
    onEnd: () => undefined,
  });
  #chunk: Uint8Array | undefined;
  /** The first small piece that was not passed on yet; the gathered ones begin with it. */
  #small: Uint8Array | undefined;
  #gathered: ReturnType<typeof createByteBuffer> | undefined;

  constructor(dial: DialHost, owner: Owner) {
    this.#owner = owner;
    const onConnected = () => {
      this.hasConnected = true;
    };
    dial(this.#giveUp.signal, onConnected).then(
      (socket) => this.#begin(socket),
      (error) => {
        this.#fail(error);
        this.#onClose();
      },
    );
  }

  isUsable = (): boolean => !this.#isClosed && this.#socket?.destroyed === false;

  use(exchange: Exchange): void {
    this.#exchange = exchange;
    this.hasAnswered = false;
    if (this.isReady) exchange.onReady();
  }

  /** Writes the head of a request, and its body where that is one text. */
  begin(method: string, bytes: Uint8Array): void {
    this.#parser.begin(method);
    this.#socket?.write(bytes);
  }

  /** Resolves when the system has the chunk; rejects when the connection is gone. */
  write(chunk: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.isUsable()) return reject(new Error('the connection is gone'));
      this.#failWrite = reject;
      this.#socket?.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket?.resume();
  }

  /** Its exchange is not interested any more and hears nothing. */
  abandon(): void {
    this.#exchange = undefined;
    this.destroy();
  }

  destroy(): void {
    this.#giveUp.abort();
    if (this.#socket) this.#socket.destroy();
    // A resolver may take its time.
    else queueMicrotask(() => this.#onClose());
  }

  #begin(socket: Socket): void {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => this.#endOfStream());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#onClose());
    if (this.#giveUp.signal.aborted) {
      socket.destroy();
      return;
    }
    this.isReady = true;
    this.#exchange?.onReady();
  }

  #receive(chunk: Buffer): void {
    // Nobody asked: an answer to nothing, or the rest of a former one.
    if (!this.#exchange) {
      this.destroy();
      return;
    }
    this.hasAnswered = true;
    this.#chunk = chunk;
    try {
      const isAllRead = this.#parser.read(chunk);
      this.#passSmall();
      if (this.#parser.isComplete()) this.#complete(isAllRead);
    } catch (error) {
      if (!(error instanceof InvalidAnswer)) throw error;
      this.#fail(error);
    } finally {
      this.#small = undefined;
      this.#gathered = undefined;
      if (this.#chunk) freeLater(this.#chunk);
      this.#chunk = undefined;
    }
  }

  #take(piece: Uint8Array): void {
    if (piece.length >= SMALL_PIECE) {
      this.#passSmall();
      this.#exchange?.onBody(this.#own(piece));
      return;
    }
    if (this.#small === undefined) {
      this.#small = piece;
      return;
    }
    if (this.#gathered === undefined) {
      this.#gathered = createByteBuffer();
      this.#gathered.append(this.#small, 0, this.#small.length);
    }
    this.#gathered.append(piece, 0, piece.length);
  }

  #passSmall(): void {
    const gathered = this.#gathered?.view() ?? (this.#small && this.#own(this.#small));
    this.#small = undefined;
    this.#gathered = undefined;
    if (gathered) this.#exchange?.onBody(gathered);
  }

  /**
   * The piece without the memory of a large chunk that it is a part of: a connection reads half a
   * mebibyte at once. A whole chunk belongs to the reader.
   */
  #own(piece: Uint8Array): Uint8Array {
    const chunk = this.#chunk;
    if (!chunk || chunk.length < LARGE_CHUNK) return piece;
    if (piece !== chunk) return Buffer.from(piece);
    this.#chunk = undefined;
    return piece;
  }

  /** Something after the answer makes the connection unusable: nobody could tell whose it is. */
  #complete(isClean: boolean): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.resume();
    const isSent = exchange?.onEnd() ?? true;
    const isKept = isSent && isClean && this.#keepForMs > 0 && this.#socket?.writableLength === 0;
    if (!isKept || !this.isUsable()) {
      this.destroy();
      return;
    }
    this.isReused = true;
    this.#owner.onIdle(this, this.#keepForMs);
  }

  #endOfStream(): void {
    // Before it is ready, no answer has begun that could end here.
    if (this.#exchange && this.isReady && this.#parser.end()) this.#complete(false);
    else this.#fail(undefined);
  }

  #fail(error: unknown): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.onFailure(error);
    this.destroy();
  }

  #onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#fail(undefined);
    this.#failWrite?.(new Error('the connection is gone'));
    this.#owner.onClosed(this);
  }
}

/** After all who were given the chunk have returned. */
const freeLater = (chunk: Uint8Array): void => {
  if (chunk.length >= LARGE_CHUNK) queueMicrotask(() => detachBuffer(chunk));
};
