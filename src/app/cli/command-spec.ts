import type { CommandModule } from './command.ts';

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
  /** Required words after the name; the last one may end in `...` and then takes one or more. */
  positionals: readonly string[];
  options: Readonly<Record<string, OptionSpec>>;
  /** Further help, loaded only when asked for. */
  more?: () => Promise<string>;
  /** Lazy: a command loads only its own modules. */
  load: () => Promise<CommandModule>;
};
