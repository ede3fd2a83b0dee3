import pino, { type DestinationStream, type Logger as PinoLogger } from 'pino';
import { escapeHiddenInJson, type Logger } from '../../kernel/index.ts';
import { escapeFields } from './escape-fields.ts';
import { redactFields, redactText } from './redact-fields.ts';

export type LogOptions = {
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Lines for people instead of one JSON object a line. */
  pretty: boolean;
  colors: boolean;
  /**
   * Where lines go; standard error without it, since standard output belongs to the command's own
   * answer.
   */
  destination?: DestinationStream;
};

/**
 * The kernel's logger on pino. Lines are written synchronously: nothing is lost when the process
 * ends, and no transport thread has to be found on disk, which a compiled binary could not do. JSON
 * lines are `{level, time, …fields, msg}`, times in ISO form.
 */
export async function createLogger(options: LogOptions): Promise<Logger> {
  const lines = options.destination ?? openStandardError();
  // What a terminal acts on, or what changes the order in which a line is read, is written as an
  // escape.
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

/** Lines kept while standard error takes none, in bytes; what comes on top is dropped. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024;

/**
 * A full disk or a closed pipe under the log is no fault of whoever has something to say: the lines
 * wait, and go out with the next.
 */
function openStandardError(): DestinationStream {
  const lines = pino.destination({ fd: 2, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  lines.on('error', () => {});
  return lines;
}

async function prettify(plain: DestinationStream, colors: boolean): Promise<DestinationStream> {
  // 3 ms to load: only where a person reads.
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ singleLine: true, colorize: colors, translateTime: 'SYS:HH:MM:ss.l' });
  return { write: (line) => plain.write(format(escapeFields(line))) };
}

function wrap(inner: PinoLogger): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    if (!inner.isLevelEnabled(level)) return;
    inner[level](redactFields(fields), redactText(message));
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(inner.child(redactFields(fields))),
  };
}
