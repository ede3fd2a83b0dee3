import { AsyncLocalStorage } from 'node:async_hooks';
import { writeSync } from 'node:fs';
import pino, { type DestinationStream, type Logger as PinoLogger } from 'pino';
import { detachFromRequest, escapeHiddenInJson, isoTime, type Logger, systemClock } from '../../kernel/index.ts';
import { createLineBuffer, type LineBuffer, type WriteBytes } from './line-buffer.ts';
import type { LogFile } from './log-file.ts';
import { escapeFields, redactFields, redactText } from './redact-fields.ts';

export type LogOptions = {
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Lines for people instead of one JSON object a line. */
  pretty: boolean;
  colors: boolean;
  /** Instead of standard error, which gets the lines that the file does not take. */
  file?: LogFile | undefined;
  /** The id of the running request; stands in lines that name none. */
  requestId?: RequestContext['requestId'];
  /** Default: standard error. Standard output carries the command's own answer. */
  destination?: DestinationStream;
};

/**
 * Both write buffered lines: `send` before other output, as far as the reader takes them at once,
 * and `flush` before the end, waiting for a reader that lags.
 */
export type ProcessLogger = Logger & Pick<LineBuffer, 'send' | 'flush'>;

/**
 * The kernel's logger on pino, without its transport thread, which a compiled binary could not load
 * from disk. JSON lines are `{level, time, …fields, msg}` with ISO times. Standard error gets them
 * in batches; a warning or an error goes out at once with all lines before it, and the end of the
 * process writes the rest. Only a kill can lose lines: those of the last tenth of a second.
 */
export async function createLogger(options: LogOptions): Promise<ProcessLogger> {
  const lines = options.destination ? unbuffered(options.destination) : openLines(options.file, reportDropped);
  // Control characters, and those that change the reading order, are escaped.
  const plain = { write: (line: string) => lines.write(escapeHiddenInJson(line)) };
  const base = pino(
    {
      level: options.level,
      base: null,
      timestamp: createTimestamp(),
      formatters: { level: (label) => ({ level: label }) },
    },
    options.pretty ? await prettify(lines, options.colors) : plain,
  );
  const { requestId = () => undefined } = options;
  const logger = wrap(() => base, { send: lines.send, requestId });
  return { ...logger, send: lines.send, flush: lines.flush };

  function reportDropped(count: number): void {
    const message = 'log lines were dropped: standard error did not take them in time';
    detachFromRequest(() => logger.warn({ lines: count }, message));
  }
}

/** Where lines go, as a buffer that is flushed when the process ends, after a crash too. */
function openLines(file: LogFile | undefined, reportDropped: (lines: number) => void): LineBuffer {
  // Opening this stream keeps the runtime's writes from blocking on a pipe that is full.
  const { fd } = process.stderr;
  const writeError: WriteBytes = (bytes) => writeSync(fd, bytes);
  const lines = createLineBuffer(file ? fallBack(file, writeError) : writeError, reportDropped);
  process.on('exit', lines.flush);
  return lines;
}

/** A full disk or a folder that is gone stops no gateway and loses no line. */
function fallBack(file: LogFile, writeError: WriteBytes): WriteBytes {
  let isFailing = false;
  return (bytes) => {
    try {
      const written = file.write(bytes);
      isFailing = false;
      return written;
    } catch (error) {
      file.breakLine();
      const reason = error instanceof Error && 'code' in error ? error.code : 'unknown';
      const msg = 'the log file cannot be written: lines go to standard error until it can';
      const line = { level: 'warn', time: isoTime(systemClock.nowMs()), reason, msg };
      if (!isFailing) writeError(Buffer.from(`${JSON.stringify(line)}\n`));
      isFailing = true;
      return writeError(bytes);
    }
  };
}

const unbuffered = (destination: DestinationStream): LineBuffer => ({
  write: (line) => void destination.write(line),
  send() {},
  flush() {},
});

async function prettify(plain: Pick<LineBuffer, 'write'>, colors: boolean): Promise<DestinationStream> {
  // Loading takes 3 ms, so only a terminal pays for it.
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ singleLine: true, colorize: colors, translateTime: 'SYS:HH:MM:ss.l' });
  return { write: (line) => plain.write(format(escapeFields(line))) };
}

/** The time as pino wants it; a busy gateway writes many lines in the same millisecond. */
function createTimestamp(): () => string {
  let written = 0;
  let text = '';
  return () => {
    const now = systemClock.nowMs();
    if (now !== written) text = `,"time":"${isoTime(now)}"`;
    written = now;
    return text;
  };
}

type LineContext = { send: () => void; requestId: () => string | undefined };

/** `open` is called at the first line: most children never write one. `send` writes the buffer. */
function wrap(open: () => PinoLogger, context: LineContext): Logger {
  const { send, requestId } = context;
  let inner: PinoLogger | undefined;
  const logAt = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    inner ??= open();
    if (!inner.isLevelEnabled(level)) return;
    const id = 'request_id' in fields ? undefined : requestId();
    const shown = redactFields(fields);
    inner[level](id === undefined ? shown : { request_id: id, ...shown }, redactText(message));
    if (level === 'warn' || level === 'error') send();
  };
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    child(fields) {
      inner ??= open();
      const parent = inner;
      // What stands in all its lines is not written twice.
      const own = 'request_id' in fields ? { send, requestId: () => undefined } : context;
      return wrap(() => parent.child(redactFields(fields)), own);
    },
  };
}

/** Knows which request a line is written for, however far from the request that is. */
export type RequestContext = {
  run<T>(requestId: string, work: () => T): T;
  requestId(): string | undefined;
};

/** Costs a quarter of a microsecond a request, beside the millisecond of a submission. */
export function createRequestContext(): RequestContext {
  const running = new AsyncLocalStorage<string>();
  return {
    run: (requestId, work) => running.run(requestId, work),
    requestId: () => running.getStore(),
  };
}
