import { writeSync } from 'node:fs';
import { type Clock, escapeHiddenInJson, isoTime, type Logger } from '../../kernel/index.ts';
import { escapeFields } from './escape-fields.ts';
import { createLineBuffer, type LineBuffer } from './line-buffer.ts';
import { redactFields, redactText } from './redact-fields.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof LEVELS)[number];

export type LogOptions = {
  level: Level | 'silent';
  /** Lines for people instead of one JSON object a line. */
  pretty: boolean;
  colors: boolean;
  clock: Clock;
  /** Default: to standard error. Standard output carries the command's own answer. */
  writeLine?: (line: string) => void;
};

/** `flush` writes buffered lines before it returns: before other output and before the end. */
export type ProcessLogger = Logger & { flush(): void };

/**
 * The kernel's logger. JSON lines are `{level, time, …fields, msg}` with ISO times. Standard error
 * gets them in batches; a warning or an error goes out at once with all lines before it, and the
 * end of the process writes the rest. Only a kill can lose lines: those of the last tenth of a
 * second.
 */
export async function createLogger(options: LogOptions): Promise<ProcessLogger> {
  const { clock, writeLine } = options;
  const lines = writeLine ? unbuffered(writeLine) : openStandardError(reportDropped);
  const format = options.pretty ? await prettyFormat(options.colors) : escapeHiddenInJson;
  const lowest = options.level === 'silent' ? LEVELS.length : LEVELS.indexOf(options.level);

  /** `inherited` are the JSON members of a child's fields, computed for its first line. */
  const loggerWith = (inherited: () => string): Logger => {
    const logAt = (level: Level) => {
      if (LEVELS.indexOf(level) < lowest) return () => {};
      return (fields: object, message: string) => {
        const start = `{"level":"${level}","time":"${isoTime(clock.nowMs())}"`;
        const end = `,"msg":${JSON.stringify(redactText(message))}}\n`;
        lines.write(format(start + inherited() + jsonMembers(fields) + end));
        if (level === 'warn' || level === 'error') lines.send();
      };
    };
    return {
      debug: logAt('debug'),
      info: logAt('info'),
      warn: logAt('warn'),
      error: logAt('error'),
      child: (fields) => {
        let members: string | undefined;
        return loggerWith(() => {
          members ??= inherited() + jsonMembers(fields);
          return members;
        });
      },
    };
  };

  const logger = loggerWith(() => '');
  return { ...logger, flush: lines.flush };

  function reportDropped(count: number): void {
    logger.warn({ lines: count }, 'log lines were dropped: standard error did not take them in time');
  }
}

/** Redacted fields as JSON, each after a comma. */
function jsonMembers(fields: object): string {
  const json = JSON.stringify(redactFields(fields));
  return json === '{}' ? '' : `,${json.slice(1, -1)}`;
}

/** Standard error as a line buffer, flushed when the process ends, after a crash too. */
function openStandardError(reportDropped: (lines: number) => void): LineBuffer {
  // Opening this stream keeps the runtime's writes from blocking on a pipe that is full.
  const { fd } = process.stderr;
  const lines = createLineBuffer((bytes) => writeSync(fd, bytes), reportDropped);
  process.on('exit', lines.flush);
  return lines;
}

const unbuffered = (write: (line: string) => void): LineBuffer => ({ write, send() {}, flush() {} });

async function prettyFormat(colors: boolean): Promise<(line: string) => string> {
  // Loading takes 3 ms, so only a terminal pays for it.
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ singleLine: true, colorize: colors, translateTime: 'SYS:HH:MM:ss.l' });
  return (line) => format(escapeFields(line));
}
