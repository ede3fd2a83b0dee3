import { answer, type CommandInput, EXIT, type ExitCode, option } from '../command.ts';
import { type Accounts, readPassword, withAccounts } from '../open-accounts.ts';

/** Creates the first administrator, with the password on standard input; exit 1 if one exists. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const password = await readPassword(input);
  const username = option(input, 'username') ?? '';
  const create = async ({ auth, audit }: Accounts) => {
    const root = await auth.setup.createRoot({ username, password });
    await audit({ action: 'setup.complete', userId: root.userId, detail: { username: root.username } });
    return root;
  };
  const created = await withAccounts(input, create, { creates: true });
  answer(
    input,
    { ok: true, user_id: created.userId, username: created.username },
    `administrator "${created.username}" created; sign in with this name and password`,
  );
  return EXIT.ok;
}
