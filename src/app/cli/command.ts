/** What a command is given and how it answers. */

export type CommandIo = {
  out(text: string): void;
  err(text: string): void;
  /** All of standard input, at most 64 KiB. */
  readStdin(): Promise<string>;
  /** Resolves when what was printed has left the process. */
  flush(): Promise<void>;
  /** Whether standard error is a terminal. */
  isTerminal: boolean;
};

export type CommandInput = {
  /** Options by their long name; a flag without value is `true`. */
  values: Readonly<Record<string, string | boolean | undefined>>;
  positionals: readonly string[];
  /** Answer with JSON for programs instead of text for people. */
  json: boolean;
  io: CommandIo;
};

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A module of `cli/` that does the work of one command; loaded when the command is given. */
export type CommandModule = { run(input: CommandInput): Promise<ExitCode> };

/**
 * The command was used wrongly: exit 2. `message` says what and how; `command` is its name once
 * that is known.
 */
export class UsageError extends Error {
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.command = command;
  }
}

/** The command failed in a way that its message explains: exit 1, no stack. */
export class CommandError extends Error {}

/** A string option, `undefined` when it was not given. */
export const option = (input: CommandInput, name: string): string | undefined => {
  const value = input.values[name];
  return typeof value === 'string' ? value : undefined;
};

/** Prints `data` as one JSON line, or `text` for people. */
export function answer(input: CommandInput, data: unknown, text: string): void {
  input.io.out(input.json ? `${JSON.stringify(data)}\n` : text.endsWith('\n') ? text : `${text}\n`);
}
