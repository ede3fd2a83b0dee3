import { OperatorError, systemClock } from '../../../kernel/index.ts';
import { exportUser } from '../../../reports/index.ts';
import { type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readAccount, withAccounts } from '../open-accounts.ts';

/** Writes everything about a person as one JSON document, piece by piece. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const account = readAccount(input, 'admin export-user');
  await withAccounts(input, async ({ store, audit }) => {
    const user =
      'id' in account ? await store.users.adminById(account.id) : await store.users.byLogin(account.username.trim());
    if (!user) throw new OperatorError('there is no such account');
    await audit({ action: 'user.export', userId: user.id, detail: {} });
    for await (const piece of exportUser({ store }, user.id, systemClock.unix())) {
      input.io.out(piece);
      await input.io.flush();
    }
  });
  return EXIT.ok;
}
