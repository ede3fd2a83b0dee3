import type { SandboxFailure } from './types.ts';

/**
 * One message on the channel between parent and child: two unsigned 32-bit little-endian lengths,
 * then `head` (JSON) and `body` (text: plugin source, arguments or result, already JSON where it is
 * data).
 */
export type Frame = { head: string; body: string };

/**
 * Parent to child. The body is the module's source (its first `sourceLength` UTF-16 units, where
 * the child may not have it) and the arguments as a JSON array. Without `path` the module is
 * inspected. With `lengths` the body holds the arguments of so many calls, each of that many UTF-16
 * units.
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
   * Milliseconds that loading and calling may take together, from the moment the child takes the
   * request up.
   */
  budgetMs: number;
  nowMs: number;
  unixNow?: number;
};
export type ForgetRequest = { forget: string };

export type ReplyFailure = Pick<SandboxFailure, 'kind' | 'message' | 'line' | 'column'>;

/** What one of several calls came to; `length`: UTF-16 units of the body that are its result. */
export type ReplyPart = Pick<Reply, 'console' | 'failure'> & { length: number };

/** Child to parent. The body is the result's JSON, or empty where there is none. */
export type Reply = {
  id: number;
  /** Of several calls those that were made, at least one: the others are to be sent again. */
  each?: readonly ReplyPart[];
  console: string[];
  ms?: number;
  failure?: ReplyFailure;
  /** The child does not have the source any more: send it again. */
  needsSource?: true;
};
/** The child's first message: it can take requests. */
export type Hello = { ready: true };

const HEADER = 8;

export function encodeFrame(head: string, body: string): Buffer {
  const headBytes = Buffer.byteLength(head);
  const bodyBytes = Buffer.byteLength(body);
  const frame = Buffer.allocUnsafe(HEADER + headBytes + bodyBytes);
  frame.writeUInt32LE(headBytes, 0);
  frame.writeUInt32LE(bodyBytes, 4);
  frame.write(head, HEADER, 'utf8');
  frame.write(body, HEADER + headBytes, 'utf8');
  return frame;
}

/** Puts frames together from the pieces a stream delivers. */
export interface FrameReader {
  /**
   * Takes a piece and returns the frames that are complete now. The piece must not change
   * afterwards.
   */
  push(piece: Uint8Array): Frame[];
}

export function createFrameReader(): FrameReader {
  let pieces: Buffer[] = [];
  let have = 0;
  let need = HEADER;
  return {
    push(piece) {
      pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      have += piece.byteLength;
      const frames: Frame[] = [];
      // Pieces are joined only when the frame that they begin is complete, so that a long one is
      // copied once.
      if (have < need) return frames;
      const data = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
      let at = 0;
      need = HEADER;
      while (data.length - at >= HEADER) {
        const bodyAt = at + HEADER + data.readUInt32LE(at);
        const end = bodyAt + data.readUInt32LE(at + 4);
        if (data.length < end) {
          need = end - at;
          break;
        }
        frames.push({
          head: data.toString('utf8', at + HEADER, bodyAt),
          body: data.toString('utf8', bodyAt, end),
        });
        at = end;
      }
      pieces = at < data.length ? [data.subarray(at)] : [];
      have = data.length - at;
      return frames;
    },
  };
}
