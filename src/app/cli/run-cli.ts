import { parseArgs } from 'node:util';
import { AppError, describeBytes, escapeHiddenInJson, OperatorError, unwritable } from '../../kernel/index.ts';
import { type CommandInput, type CommandIo, EXIT, type ExitCode, toPrintable, UsageError } from './command.ts';
import { COMMANDS, type CommandSpec } from './commands.ts';
import { explainRefusal } from './drop-root.ts';

const STDIN_LIMIT = 64 * 1024;

/**
 * Runs one command line (without the program's name). Resolves to its exit code once all output has
 * been flushed. Never rejects.
 */
export async function runCli(argv: readonly string[], io: CommandIo = processIo()): Promise<ExitCode> {
  const code = await runCommand(argv, io);
  try {
    await io.flush();
    return code;
  } catch (error) {
    // A failed command has said so on standard error, unless its answer was to be JSON.
    if (code === EXIT.ok || argv.includes('--json')) io.err(`taskgate: ${describeError(error)}\n`);
    await io.flush().catch(() => {});
    return code === EXIT.ok ? EXIT.failed : code;
  }
}

async function runCommand(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const json = argv.includes('--json');
  try {
    const parsed = parseCommand(argv);
    if (parsed.kind === 'help') {
      io.out(parsed.spec ? await describeCommand(parsed.spec) : describeCommands());
      return EXIT.ok;
    }
    const run = await parsed.spec.load();
    return await run({ ...parsed.input, io });
  } catch (error) {
    const described = describeError(error);
    const message = `${described}${explainRefusal(described)}`;
    const usage = error instanceof UsageError ? error : undefined;
    const help = usage ? `See: taskgate ${usage.command ? `${usage.command} ` : ''}--help\n` : '';
    if (json) io.out(`${escapeHiddenInJson(JSON.stringify({ ok: false, error: message }))}\n`);
    else io.err(`taskgate: ${toPrintable(message)}\n${help}`);
    return usage ? EXIT.usage : EXIT.failed;
  }
}

/** Expected failures say what to do. Anything else is a bug and shows its stack. */
function describeError(error: unknown): string {
  if (error instanceof UsageError || error instanceof OperatorError) return error.message;
  if (error instanceof AppError) return error.message;
  if (isRefusal(error)) return `the system refuses: ${error.message}`;
  return error instanceof Error
    ? `unexpected error: ${error.stack ?? error.message}`
    : `unexpected error: ${String(error)}`;
}

/** What file systems answer where nothing is wrong with this program. */
const REFUSALS = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EIO', 'ESTALE', 'ENOTDIR', 'EISDIR'];

const isRefusal = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'path' in error && 'code' in error && REFUSALS.includes(String(error.code));

function processIo(): CommandIo {
  const [out, err] = [watchWrites(process.stdout), watchWrites(process.stderr)];
  return {
    out: out.write,
    err: err.write,
    async flush() {
      const [fault] = await Promise.all([out.ended(), err.ended()]);
      if (fault !== undefined) throw unwritable('standard output', fault);
    },
    isTerminal: process.stderr.isTTY === true,
    answersTerminal: process.stdout.isTTY === true,
    async readStdin() {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of process.stdin) {
        const bytes = Buffer.from(chunk);
        size += bytes.length;
        if (size > STDIN_LIMIT) throw new UsageError(`standard input has more than ${describeBytes(STDIN_LIMIT)}`);
        chunks.push(bytes);
      }
      return Buffer.concat(chunks).toString('utf8');
    },
  };
}

/**
 * A stream of this process. Without a listener, a full disk or a closed pipe would end the process,
 * and with it a gateway. `ended` resolves when all has been written, with the first fault; a reader
 * that closes the pipe is not a fault.
 */
function watchWrites(stream: NodeJS.WriteStream): {
  write(text: string): void;
  ended(): Promise<Error | undefined>;
} {
  let fault: Error | undefined;
  const note = (error?: Error | null) => {
    if (error && (error as NodeJS.ErrnoException).code !== 'EPIPE') fault ??= error;
  };
  stream.on('error', note);
  let last: Promise<unknown> = Promise.resolve();
  return {
    write(text) {
      const written = new Promise<void>((resolve) => {
        stream.write(text, (error) => {
          note(error);
          resolve();
        });
      });
      last = Promise.all([last, written]);
    },
    async ended() {
      await last;
      return fault;
    },
  };
}

/** The help of all commands. */
function describeCommands(): string {
  const width = Math.max(...COMMANDS.map((command) => command.name.length));
  return [
    'taskgate - an authenticated, billed, OpenAI-compatible gateway for asynchronous task APIs',
    '',
    'Usage: taskgate COMMAND [options]',
    '',
    ...COMMANDS.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`),
    '',
    'Every command takes --help, and --json for programs. Exit code: 0 done, 1 failed, 2 wrong usage.',
    '',
  ].join('\n');
}

/** The help of one command. */
async function describeCommand(spec: CommandSpec): Promise<string> {
  const rows = Object.entries(spec.options).map(([name, option]) => ({
    flag: `--${name}${option.value ? ` ${option.value}` : ''}`,
    doc: `${option.doc}${option.required ? ' (required)' : ''}`,
  }));
  rows.push({ flag: '--json', doc: 'answer with JSON' }, { flag: '--help', doc: 'show this help' });
  const width = Math.max(...rows.map((row) => row.flag.length));
  const lines = [
    `taskgate ${spec.name}: ${spec.summary}`,
    '',
    `Usage: taskgate ${[spec.name, ...spec.positionals, '[options]'].join(' ')}`,
    '',
    ...rows.map((row) => `  ${row.flag.padEnd(width)}  ${row.doc}`),
    '',
  ];
  if (spec.more) lines.push(await spec.more(), '');
  return lines.join('\n');
}

export type ParsedCommand =
  | { kind: 'help'; spec: CommandSpec | undefined }
  | { kind: 'run'; spec: CommandSpec; input: Omit<CommandInput, 'io'> };

/** @throws `UsageError` that says what is wrong and what is right */
export function parseCommand(argv: readonly string[]): ParsedCommand {
  const [first] = argv;
  if (first === '--help' || first === '-h' || first === 'help') return { kind: 'help', spec: undefined };
  const words = namesCommand(first) ? argv : first === '--version' ? ['version'] : ['start', ...argv];
  const spec = COMMANDS.find((command) => {
    const name = command.name.split(' ');
    return name.every((word, index) => words[index] === word);
  });
  if (spec === undefined) {
    const subcommands = COMMANDS.filter((command) => command.name.startsWith(`${first} `)).map(
      (command) => command.name,
    );
    if (subcommands.length > 0 && (words[1] === '--help' || words[1] === '-h'))
      return { kind: 'help', spec: undefined };
    throw new UsageError(
      subcommands.length > 0 ? `"${first}" needs one of: ${subcommands.join(', ')}` : `there is no command "${first}"`,
    );
  }
  return parseOptions(spec, words.slice(spec.name.split(' ').length));
}

/** A start without a command, as by a double click, may have options. */
const namesCommand = (first: string | undefined): first is string => first !== undefined && !first.startsWith('--');

function parseOptions(spec: CommandSpec, rest: readonly string[]): ParsedCommand {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  };
  for (const [name, option] of Object.entries(spec.options)) options[name] = { type: option.type };
  const usageError = (message: string) => new UsageError(message, spec.name);
  const { tokens } = parseArgs({ args: [...rest], options, strict: false, tokens: true });
  const values: Record<string, string | boolean> = {};
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const known = options[token.name];
    if (known === undefined) throw usageError(`unknown option ${token.rawName}`);
    if (known.type === 'boolean' && token.value !== undefined) {
      throw usageError(`${token.rawName} takes no value`);
    }
    if (known.type === 'string' && (token.value === undefined || token.value === '')) {
      throw usageError(
        `${token.rawName} needs a value: ${token.rawName} ${spec.options[token.name]?.value ?? 'VALUE'}`,
      );
    }
    if (known.type === 'string' && !token.inlineValue && token.value?.startsWith('--')) {
      throw usageError(`${token.rawName} needs a value, but "${token.value}" follows`);
    }
    values[token.name] = token.value ?? true;
  }
  if (values.help === true) return { kind: 'help', spec };
  const missing = spec.positionals[positionals.length];
  const takesMore = spec.positionals.at(-1)?.endsWith('...') === true;
  if (missing !== undefined && !missing.startsWith('[')) {
    throw usageError(`${missing.replace('...', '')} is missing: taskgate ${spec.name} ${missing}`);
  }
  const extra = takesMore ? undefined : positionals[spec.positionals.length];
  if (extra !== undefined) throw usageError(`unexpected argument "${extra}"`);
  for (const [name, option] of Object.entries(spec.options)) {
    if (option.required && values[name] === undefined) {
      throw usageError(`--${name} is missing${option.value ? `: --${name} ${option.value}` : ''}`);
    }
  }
  const { json = false, ...others } = values;
  return { kind: 'run', spec, input: { values: others, positionals, json: json === true } };
}
