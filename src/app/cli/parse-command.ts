import { parseArgs } from 'node:util';
import { type CommandInput, UsageError } from './command.ts';
import { COMMANDS, type CommandSpec } from './commands.ts';

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
