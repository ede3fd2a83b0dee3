import { COMMANDS, type CommandSpec } from './commands.ts';

/** The help of all commands. */
export function describeCommands(): string {
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
export async function describeCommand(spec: CommandSpec): Promise<string> {
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
