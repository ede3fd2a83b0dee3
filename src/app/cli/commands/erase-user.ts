import { pluralize, silentLogger, systemClock } from '../../../kernel/index.ts';
import { eraseUsersStep } from '../../../operations/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readAccount, withAccounts } from '../open-accounts.ts';

/** Rows at a time: a gateway that runs beside this waits for each. */
const BATCH = 50;

/** Deletes an account, and erases its content at once. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const account = readAccount(input, 'admin erase-user');
  const erased = await withAccounts(input, async ({ auth, store, audit }) => {
    const done = await auth.administration.deleteByOperator(account);
    await audit({ action: 'user.delete', userId: done.userId, detail: {} });
    const { run: runBatch } = eraseUsersStep({ store, clock: systemClock, logger: silentLogger }, done.userId);
    let tasks = 0;
    for (let walked = 1; walked > 0; ) {
      const batch = await runBatch(BATCH);
      walked = batch.walked;
      tasks += batch.changed;
    }
    const left = { limit: 1, deletedUntil: systemClock.unix() };
    const [next] = await store.personalData.usersToErase(done.userId - 1, left);
    return { ...done, rows: tasks, isComplete: next !== done.userId };
  });
  const rest = erased.isComplete ? '' : '; what still runs is erased after its end, by the gateway';
  answer(
    input,
    {
      ok: true,
      user_id: erased.userId,
      was_deleted: erased.wasDeleted,
      rows: erased.rows,
      complete: erased.isComplete,
    },
    `account ${erased.userId} is erased: ${pluralize(erased.rows, 'row')} of content${rest}`,
  );
  return EXIT.ok;
}
