/** The input of a command and how it answers. */

import { constants, setPriority } from 'node:os';
import { escapeHiddenCharacters, escapeHiddenInJson } from '../../kernel/index.ts';

export type CommandIo = {
  out(text: string): void;
  err(text: string): void;
  /** All of standard input, at most 64 KiB. */
  readStdin(): Promise<string>;
  /** Resolves when all output has been written; rejects where standard output takes no more. */
  flush(): Promise<void>;
  /** Whether standard error is a terminal. */
  isTerminal: boolean;
  /** Whether standard output is one. */
  answersTerminal: boolean;
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

/** Wrong usage: exit 2. `message` says what is wrong and what is right; `command` is its name. */
export class UsageError extends Error {
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.command = command;
  }
}

/** The value of a string option, `undefined` if it was not given. */
export const option = (input: CommandInput, name: string): string | undefined => {
  const value = input.values[name];
  return typeof value === 'string' ? value : undefined;
};

/** Prints `data` as one JSON line, or `text` for people. */
export function answer(input: CommandInput, data: unknown, text: string): void {
  const printed = input.json ? escapeHiddenInJson(JSON.stringify(data)) : toPrintable(text);
  input.io.out(printed.endsWith('\n') ? printed : `${printed}\n`);
}

/**
 * Texts of gateways, vendors and files may hold sequences that control a terminal: they are shown,
 * not obeyed. Lines and tabs stay.
 */
export const toPrintable = (text: string): string => text.replace(/[^\n\t]+/g, escapeHiddenCharacters);

type OptionSpec = {
  type: 'string' | 'boolean';
  /** Placeholder in the help. */
  value?: string;
  doc: string;
  required?: true;
};

export type CommandSpec = {
  /** The words that call the command. */
  name: string;
  summary: string;
  /**
   * Words after the name. The last one may end in `...` and then takes one or more, or stand in
   * brackets and then may be left out.
   */
  positionals: readonly string[];
  options: Readonly<Record<string, OptionSpec>>;
  /** Further help, loaded only when asked for. */
  more?: () => Promise<string>;
  /** Lazy: a command loads only its own modules. */
  load: () => Promise<(input: CommandInput) => Promise<ExitCode>>;
};

/** Aborted by the first SIGINT (Ctrl-C) or SIGTERM; a second one ends the process at once. */
export function stopSignals(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  return stopping.signal;
}

/**
 * Lets a gateway beside this process come first. At the lowest priority a backup would starve where
 * other work fills the machine.
 */
export function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The system does not allow it.
  }
}

/** A word of a command that is shown to people: in quotes where a shell would change it. */
export const quoteForShell = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
