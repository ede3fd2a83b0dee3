import type { Connection } from './connection.ts';

export type BodyReader = {
  onPiece(piece: Uint8Array): void;
  onEnd(): void;
  onFailure(error: unknown): void;
};

/**
 * Bytes that are kept for a reader who has not come yet, or who passes on what came before, until
 * the vendor is held back: holding back and going on after each piece costs as much as reading it.
 */
const MAX_UNREAD = 256 * 1024;

/**
 * The body of an answer between its connection and its reader. Pieces that nobody takes wait here,
 * and hold the vendor back. A complete body does not need the connection any more.
 */
export class AnswerBody {
  #connection: Connection | undefined;
  #reader: BodyReader | undefined;
  #pieces: Uint8Array[] = [];
  #unread = 0;
  #isPaused = false;
  #hasEnded = false;
  #failure: { error: unknown } | undefined;
  #onChange = () => {};

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** All of it, if it has arrived whole and nobody has begun to read. */
  takeWhole(): Uint8Array[] | undefined {
    return this.#hasEnded && !this.#failure && !this.#reader ? this.#pieces : undefined;
  }

  hasArrived = (): boolean => this.#hasEnded;

  /**
   * A copy of the first bytes, which stay to be read, once `isEnough` says so; else of what there
   * is when `max` bytes wait, or no more will come.
   */
  async peek(isEnough: (bytes: Uint8Array) => boolean, max: number): Promise<Uint8Array> {
    for (;;) {
      const bytes = Buffer.concat(this.#pieces, Math.min(this.#unread, max));
      const isOver = this.#hasEnded || this.#failure !== undefined || this.#reader !== undefined;
      if (isOver || bytes.length === max || isEnough(bytes)) return bytes;
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  read(reader: BodyReader): void {
    this.#reader = reader;
    this.#flow();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#flow();
  }

  /**
   * Drops what waits here: a later read fails. Closes a connection whose answer is not complete.
   */
  destroy(): void {
    this.#reader = undefined;
    this.#pieces = [];
    this.#failure ??= { error: undefined };
    this.#unread = 0;
    this.#onChange();
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.abandon();
  }

  push(piece: Uint8Array): void {
    if (this.#reader && !this.#isPaused && this.#pieces.length === 0) {
      this.#reader.onPiece(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#unread += piece.length;
    this.#onChange();
    if (this.#unread > MAX_UNREAD) this.#connection?.pause();
  }

  end(): void {
    this.#hasEnded = true;
    this.#connection = undefined;
    this.#onChange();
    this.#flow();
  }

  fail(error: unknown): void {
    this.#connection = undefined;
    this.#failure = { error };
    this.#pieces = [];
    this.#unread = 0;
    this.#onChange();
    this.#flow();
  }

  #flow(): void {
    const reader = this.#reader;
    if (!reader) return;
    const failure = this.#failure;
    if (failure) {
      this.#finish(() => reader.onFailure(failure.error));
      return;
    }
    while (!this.#isPaused && this.#reader) {
      const piece = this.#pieces.shift();
      if (piece === undefined) break;
      this.#unread -= piece.length;
      reader.onPiece(piece);
    }
    if (this.#isPaused || !this.#reader) return;
    if (this.#hasEnded) this.#finish(() => reader.onEnd());
    else this.#connection?.resume();
  }

  #finish(tell: () => void): void {
    this.#reader = undefined;
    tell();
  }
}
