/** Writes what the destination takes now and returns how many bytes that was. Throws when none. */
export type WriteBytes = (bytes: Uint8Array) => number;

export type LineBuffer = {
  /** Never blocks and never throws. */
  write(line: string): void;
  /** Writes what is buffered, as far as the destination takes it at once. */
  send(): void;
  /**
   * Writes what is buffered and blocks while a reader lags, for at most `FLUSH_MS`: for the last
   * lines of a process.
   */
  flush(): void;
};

/** Buffered lines are written at this size: what a pipe of Linux holds. */
const BATCH_CHARACTERS = 64 * 1024;
/** They are written at the latest this long after the first of them. */
const DELAY_MS = 100;
/** More is not buffered while the destination takes nothing; further lines are dropped. */
const MAX_CHARACTERS = 1024 * 1024;
/** The wait for a reader that lags, and for a disk that is full or a pipe that is closed. */
const BUSY_MS = 10;
const FAILED_MS = 1000;
const FLUSH_MS = 2000;

/**
 * Collects log lines and writes them in batches, in their order. A reader that lags stalls nobody:
 * its lines wait, and those that find the buffer full are dropped. `reportDropped` gets their
 * number once there is room; the line that it writes stands where they would have stood.
 */
export function createLineBuffer(writeBytes: WriteBytes, reportDropped: (lines: number) => void): LineBuffer {
  let waiting = '';
  /** The part of the last batch that has not been written. */
  let rest: Uint8Array = new Uint8Array();
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function sendAfter(ms: number): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      send();
    }, ms);
    // A command that is done does not wait for it: its end flushes.
    timer.unref();
  }

  function write(line: string): void {
    if (waiting.length + rest.length + line.length > MAX_CHARACTERS) {
      dropped += 1;
      return;
    }
    waiting += line;
    if (waiting.length < BATCH_CHARACTERS) sendAfter(DELAY_MS);
    // While a part of the last batch waits, a timer runs that tries again.
    else if (rest.length === 0) send();
  }

  /** True when the destination is busy and may take the rest in a moment. */
  function send(): boolean {
    try {
      while (takeBatch()) rest = rest.subarray(writeBytes(rest));
      return false;
    } catch (error) {
      const busy = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      sendAfter(busy ? BUSY_MS : FAILED_MS);
      return busy;
    }
  }

  function takeBatch(): boolean {
    if (rest.length > 0) return true;
    rest = Buffer.from(waiting);
    waiting = '';
    if (dropped > 0) {
      const lines = dropped;
      dropped = 0;
      reportDropped(lines);
    }
    return rest.length > 0;
  }

  return {
    write,
    send: () => void send(),
    flush() {
      for (let waited = 0; send() && waited < FLUSH_MS; waited += BUSY_MS) Bun.sleepSync(BUSY_MS);
    },
  };
}
