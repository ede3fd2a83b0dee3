import { readSync, writeSync } from 'node:fs';
import { encodeFrame, FRAME_HEADER_BYTES, type Frame } from '../frames.ts';

/**
 * The descriptors of the socket to the parent; all others are /dev/null. On Windows they are
 * standard input and output.
 */
const [READ_FD, WRITE_FD] = process.platform === 'win32' ? [0, 1] : [3, 3];
const BUFFER_BYTES = 128 * 1024;
/** Room for the lengths and the head before the body of a message that is made. */
const HEAD_ROOM = 8 * 1024;

/**
 * The child's end of the socket. Reads and writes block: the process has nothing else to do, and
 * going through the event loop would cost more than a call. Both use the same memory again and
 * again, for garbage of a megabyte a second is what makes calls late.
 */
export interface ParentSocket {
  /** Waits for the next message. Its body is valid until the next call of `receive`. */
  receive(): Frame;
  /** Sends a message. The body has the parts that were added since the last one. */
  send(head: string): void;
  /** Copies a part of the body of the next message. */
  addToBody(part: Uint8Array): void;
  /** Length of the body so far. */
  bodyBytes(): number;
  /** Bytes of the buffers that large messages left as garbage since the last call. */
  takeGarbageBytes(): number;
}

export function createParentSocket(): ParentSocket {
  let garbageBytes = 0;
  const replace: Replace = (buffer, bytes) => {
    garbageBytes += buffer.length;
    return Buffer.allocUnsafeSlow(bytes);
  };
  return {
    ...createReceiver(replace),
    ...createSender(replace),
    takeGarbageBytes() {
      const taken = garbageBytes;
      garbageBytes = 0;
      return taken;
    },
  };
}

/** Windows throws at the end of a pipe. */
function readPiece(buffer: Buffer, at: number): number {
  try {
    return readSync(READ_FD, buffer, at, buffer.length - at, null);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'EOF' || error.code === 'EPIPE')) return 0;
    throw error;
  }
}

/** Gives up a buffer for a new one of this size. */
type Replace = (buffer: Buffer<ArrayBuffer>, bytes: number) => Buffer<ArrayBuffer>;

function createReceiver(replace: Replace): Pick<ParentSocket, 'receive'> {
  let buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let start = 0;
  let end = 0;
  /** Reads until `bytes` lie at `start`. */
  const fill = (bytes: number): void => {
    if (end - start >= bytes) return;
    const size = Math.max(bytes, BUFFER_BYTES);
    const target = buffer.length === size ? buffer : replace(buffer, size);
    buffer.copy(target, 0, start, end);
    buffer = target;
    end -= start;
    start = 0;
    while (end < bytes) {
      const read = readPiece(buffer, end);
      // End of file: the parent closed the socket, or died.
      if (read === 0) process.exit(0);
      end += read;
    }
  };
  return {
    receive() {
      fill(FRAME_HEADER_BYTES);
      const headBytes = buffer.readUInt32LE(start);
      const bodyBytes = buffer.readUInt32LE(start + 4);
      fill(FRAME_HEADER_BYTES + headBytes + bodyBytes);
      const headAt = start + FRAME_HEADER_BYTES;
      const bodyAt = headAt + headBytes;
      start = bodyAt + bodyBytes;
      return { head: buffer.toString('utf8', headAt, bodyAt), body: buffer.subarray(bodyAt, start) };
    },
  };
}

function createSender(replace: Replace): Pick<ParentSocket, 'send' | 'addToBody' | 'bodyBytes'> {
  // The body begins at `HEAD_ROOM`, since the head is known last.
  let buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let end = HEAD_ROOM;
  /** Puts the head before the body. */
  const finish = (head: string): Buffer => {
    const headBytes = Buffer.byteLength(head);
    const start = HEAD_ROOM - FRAME_HEADER_BYTES - headBytes;
    if (start < 0) return encodeFrame(head, buffer.subarray(HEAD_ROOM, end));
    buffer.writeUInt32LE(headBytes, start);
    buffer.writeUInt32LE(end - HEAD_ROOM, start + 4);
    buffer.write(head, start + FRAME_HEADER_BYTES, 'utf8');
    return buffer.subarray(start, end);
  };
  return {
    send(head) {
      const frame = finish(head);
      let sent = 0;
      while (sent < frame.length) sent += writeSync(WRITE_FD, frame, sent, frame.length - sent);
      if (buffer.length !== BUFFER_BYTES) buffer = replace(buffer, BUFFER_BYTES);
      end = HEAD_ROOM;
    },
    addToBody(part) {
      if (end + part.length > buffer.length) {
        const larger = replace(buffer, end + part.length);
        buffer.copy(larger, 0, 0, end);
        buffer = larger;
      }
      buffer.set(part, end);
      end += part.length;
    },
    bodyBytes: () => end - HEAD_ROOM,
  };
}
