import { answer, type CommandInput, EXIT, type ExitCode, option } from './command.ts';
import { readPassword, withAccounts } from './open-accounts.ts';

/** Sets the password from standard input and ends all sessions of the account. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const password = await readPassword(input);
  const username = option(input, 'username') ?? '';
  const reset = await withAccounts(input, (auth) => auth.passwords.reset({ username, password }));
  answer(
    input,
    { ok: true, user_id: reset.userId, username: reset.username },
    `password of "${reset.username}" set; all its sessions have ended`,
  );
  return EXIT.ok;
}
