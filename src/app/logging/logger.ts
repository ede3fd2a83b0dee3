import pino, { type DestinationStream, type Logger as PinoLogger } from 'pino';
import { escapeHiddenInJson, type Logger } from '../../kernel/index.ts';
import { escapeFields } from './escape-fields.ts';
import { redactFields, redactText } from './redact-fields.ts';

export type LogOptions = {
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Lines for people instead of one JSON object a line. */
  pretty: boolean;
  colors: boolean;
  /** Default: standard error. Standard output carries the command's own answer. */
  destination?: DestinationStream;
};

/**
 * The kernel's logger on pino. It writes synchronously: nothing is lost at exit, and it needs no
 * transport thread, which a compiled binary could not load from disk. JSON lines are
 * `{level, time, …fields, msg}` with ISO times.
 */
export async function createLogger(options: LogOptions): Promise<Logger> {
  const lines = options.destination ?? openStandardError();
  // Control characters, and those that change the reading order, are escaped.
  const plain = { write: (line: string) => lines.write(escapeHiddenInJson(line)) };
  return wrap(
    pino(
      {
        level: options.level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      options.pretty ? await prettify(lines, options.colors) : plain,
    ),
  );
}

/** Bytes buffered while standard error accepts nothing; further lines are dropped. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024;

/**
 * A full disk or a closed pipe fails no caller: lines are buffered and written with the next one.
 */
function openStandardError(): DestinationStream {
  const lines = pino.destination({ fd: 2, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  lines.on('error', () => {});
  return lines;
}

async function prettify(plain: DestinationStream, colors: boolean): Promise<DestinationStream> {
  // Loading takes 3 ms, so only a terminal pays for it.
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ singleLine: true, colorize: colors, translateTime: 'SYS:HH:MM:ss.l' });
  return { write: (line) => plain.write(format(escapeFields(line))) };
}

function wrap(inner: PinoLogger): Logger {
  const logAt = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    if (!inner.isLevelEnabled(level)) return;
    inner[level](redactFields(fields), redactText(message));
  };
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    child: (fields) => wrap(inner.child(redactFields(fields))),
  };
}
