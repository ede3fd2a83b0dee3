import type { SandboxFailure } from './types.ts';

/**
 * One message on the channel between parent and child. On the wire: the lengths of `head` and
 * `body` as unsigned 32-bit little-endian numbers, then both as UTF-8. `head` is JSON. `body` is
 * text: the plugin's source, and arguments or results, which are encoded as JSON already. It is
 * decoded where it is used.
 */
export type Frame = { head: string; body: Buffer };

/**
 * Parent to child. The body is the module's source, if the child may not have it, then the
 * arguments as a JSON array. `sourceLength` is the length of the source in bytes. Without `path`
 * the module is inspected. With `lengths` the message is a batch of calls: the body holds the
 * arguments of each, with these lengths in bytes.
 */
export type HookRequest = {
  id: number;
  sourceHash: string;
  sourceLength?: number;
  path?: readonly string[];
  lengths?: readonly number[];
  maxResultBytes: number;
  consoleBytes: number;
  memoryBytes: number;
  /**
   * Milliseconds that loading and calling may take together, from the moment the child starts on
   * the request.
   */
  budgetMs: number;
  nowMs: number;
  unixNow?: number;
};
export type ForgetRequest = { forget: string };
/** Nothing was called for a while: the child gives memory back. It sends no answer. */
export type RestRequest = { rest: true };

export type ReplyFailure = Pick<SandboxFailure, 'kind' | 'message' | 'line' | 'column'> &
  Partial<Pick<SandboxFailure, 'reason' | 'params'>>;

/** The outcome of one call of a batch. `length`: bytes of its result in the body. */
export type ReplyPart = Pick<Reply, 'console' | 'failure' | 'repeatable'> & { length: number };

/** Child to parent. The body is the result as JSON, or empty where there is none. */
export type Reply = {
  id: number;
  /** For a batch: the calls that were made, at least one. The parent sends the others again. */
  each?: readonly ReplyPart[];
  console: string[];
  ms?: number;
  failure?: ReplyFailure;
  /**
   * The result depends on source, path and arguments alone: the guest read no clock, no random
   * numbers and nothing else that may differ next time, neither in the call nor when it was loaded.
   */
  repeatable?: true;
  /** The child no longer has the source: send the request again, with it. */
  needsSource?: true;
};
/**
 * The child's first message: it is ready for requests. `unfiltered`: why its system calls are not
 * filtered, if they are not.
 */
export type Hello = { ready: true; unfiltered?: string };

/** The two lengths. */
export const FRAME_HEADER_BYTES = 8;

/** `body`: the parts of the body. */
export function encodeFrame(head: string, ...body: (string | Uint8Array)[]): Buffer {
  const headBytes = Buffer.byteLength(head);
  let bodyBytes = 0;
  for (const part of body) bodyBytes += Buffer.byteLength(part);
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + headBytes + bodyBytes);
  frame.writeUInt32LE(headBytes, 0);
  frame.writeUInt32LE(bodyBytes, 4);
  let at = FRAME_HEADER_BYTES + frame.write(head, FRAME_HEADER_BYTES, 'utf8');
  for (const part of body) {
    if (typeof part !== 'string') frame.set(part, at);
    at += typeof part === 'string' ? frame.write(part, at, 'utf8') : part.length;
  }
  return frame;
}

/** Reassembles frames from the pieces that a stream delivers. */
export interface FrameReader {
  /**
   * Takes a piece, and returns the frames that are complete. The piece must not change later, nor
   * while their bodies are in use.
   */
  push(piece: Uint8Array): Frame[];
}

export function createFrameReader(): FrameReader {
  let pieces: Buffer[] = [];
  let have = 0;
  let need = FRAME_HEADER_BYTES;
  return {
    push(piece) {
      pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      have += piece.byteLength;
      const frames: Frame[] = [];
      // Pieces are joined only once their first frame is complete, so a long frame is copied once.
      if (have < need) return frames;
      const data = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
      let at = 0;
      need = FRAME_HEADER_BYTES;
      while (data.length - at >= FRAME_HEADER_BYTES) {
        const bodyAt = at + FRAME_HEADER_BYTES + data.readUInt32LE(at);
        const end = bodyAt + data.readUInt32LE(at + 4);
        if (data.length < end) {
          need = end - at;
          break;
        }
        frames.push({
          head: data.toString('utf8', at + FRAME_HEADER_BYTES, bodyAt),
          body: data.subarray(bodyAt, end),
        });
        at = end;
      }
      pieces = at < data.length ? [data.subarray(at)] : [];
      have = data.length - at;
      return frames;
    },
  };
}
