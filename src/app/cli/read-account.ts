import { OperatorError } from '../../kernel/index.ts';
import { type CommandInput, option, UsageError } from './command.ts';

/** Reads the password from standard input, without the final line break. */
export async function readPassword(input: CommandInput): Promise<string> {
  const password = (await input.io.readStdin()).replace(/\r?\n$/, '');
  if (password === '')
    throw new OperatorError('no password on standard input: printf %s "$PASSWORD" | taskgate admin …');
  return password;
}

/** The account that a command names, by name or number. @throws `UsageError` */
export function readAccount(input: CommandInput, command: string): { username: string } | { id: number } {
  const [username, id] = [option(input, 'username'), option(input, 'id')];
  if ((username === undefined) === (id === undefined))
    throw new UsageError('name the account by --username NAME or by --id N', command);
  if (username !== undefined) return { username };
  if (!/^[1-9]\d{0,14}$/.test(id ?? '')) throw new UsageError('--id takes a whole number from 1 on', command);
  return { id: Number(id) };
}
