import { OperatorError, pluralize, silentLogger, systemClock } from '../../../kernel/index.ts';
import { eraseUsersStep } from '../../../operations/index.ts';
import { exportUser } from '../../../reports/index.ts';
import type { SettingsService } from '../../../settings/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { type Accounts, withAccounts } from '../open-accounts.ts';

/** Creates the first administrator, with the password on standard input; exit 1 if one exists. */
export async function createRoot(input: CommandInput): Promise<ExitCode> {
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

/**
 * Sets the password from standard input and ends all sessions of the account. `--reset-factors`
 * also removes every other sign-in method. For root this is the recovery, so it switches signing in
 * with a password on again.
 */
export async function resetPassword(input: CommandInput): Promise<ExitCode> {
  const password = await readPassword(input);
  const username = option(input, 'username') ?? '';
  const resetFactors = input.values['reset-factors'] === true;
  const reset = await withAccounts(input, async ({ auth, options, audit }) => {
    const done = await auth.passwords.reset({ username, password, resetFactors });
    const switchedOn = done.isRoot && (await switchOnPasswords(options));
    const detail = {
      username: done.username,
      reset_factors: resetFactors,
      ...(switchedOn ? { password_login_switched_on: true } : {}),
    };
    await audit({ action: 'user.password_reset', userId: done.userId, detail });
    return { ...done, switchedOn, passwordSignIn: await isPasswordSignInOn(options) };
  });
  const lines = [`password of "${reset.username}" set; all its sessions have ended`];
  if (resetFactors) {
    lines.push('two-factor, backup codes, passkeys and the personal access token are removed');
    lines.push('bound identities and the email address are removed: bind them again after signing in');
  }
  if (reset.switchedOn)
    lines.push(
      'signing in with a password was off and is on again; a running gateway follows within SYNC_FREQUENCY seconds',
    );
  if (!reset.passwordSignIn)
    lines.push('signing in with a password is off: the new one works once root has switched PasswordLoginEnabled on');
  if (reset.twoFactor) lines.push('signing in still asks for a second factor; --reset-factors removes it');
  answer(
    input,
    {
      ok: true,
      user_id: reset.userId,
      username: reset.username,
      reset_factors: resetFactors,
      two_factor: reset.twoFactor,
      password_login_switched_on: reset.switchedOn,
      password_login: reset.passwordSignIn,
    },
    lines.join('\n'),
  );
  return EXIT.ok;
}

const isPasswordSignInOn = async (options: SettingsService): Promise<boolean> =>
  (await options.list()).some(({ key, value }) => key === 'PasswordLoginEnabled' && value === 'true');

/** Returns whether it was off. */
async function switchOnPasswords(options: SettingsService): Promise<boolean> {
  const done = await options.change([{ key: 'PasswordLoginEnabled', value: 'true' }]);
  return done.ok && done.value.changed.length > 0;
}

/** Writes everything about a person as one JSON document, piece by piece. */
export async function exportAccount(input: CommandInput): Promise<ExitCode> {
  const account = readAccount(input, 'admin export-user');
  await withAccounts(input, async ({ store, audit }) => {
    const user =
      'id' in account
        ? await store.users.adminById(account.id)
        : await store.users.byNameOrAddress(account.username.trim());
    if (!user) throw new OperatorError('there is no such account');
    await audit({ action: 'user.export', userId: user.id, detail: {} });
    for await (const piece of exportUser({ store }, user.id, systemClock.unix())) {
      input.io.out(piece);
      await input.io.flush();
    }
  });
  return EXIT.ok;
}

/** Rows at a time: a gateway that runs beside this waits for each. */
const BATCH = 50;

/** Deletes an account, and erases its content at once. */
export async function eraseAccount(input: CommandInput): Promise<ExitCode> {
  const account = readAccount(input, 'admin erase-user');
  const erased = await withAccounts(input, async ({ auth, store, audit }) => {
    const done = await auth.administration.deleteByOperator(account);
    await audit({ action: 'user.delete', userId: done.userId, detail: {} });
    const step = eraseUsersStep({ store, clock: systemClock, logger: silentLogger }, done.userId);
    let tasks = 0;
    for (let walked = 1; walked > 0; ) {
      const batch = await step.run(BATCH);
      walked = batch.walked;
      tasks += batch.changed;
    }
    return { ...done, rows: tasks, isComplete: !step.isWaiting() };
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

/** Reads the password from standard input, without the final line break. */
async function readPassword(input: CommandInput): Promise<string> {
  const password = (await input.io.readStdin()).replace(/\r?\n$/, '');
  if (password === '')
    throw new OperatorError('no password on standard input: printf %s "$PASSWORD" | taskgate admin …');
  return password;
}

/** The account that a command names, by name or number. @throws `UsageError` */
function readAccount(input: CommandInput, command: string): { username: string } | { id: number } {
  const [username, id] = [option(input, 'username'), option(input, 'id')];
  if ((username === undefined) === (id === undefined))
    throw new UsageError('name the account by --username NAME or by --id N', command);
  if (username !== undefined) return { username };
  if (!/^[1-9]\d{0,14}$/.test(id ?? '')) throw new UsageError('--id takes a whole number from 1 on', command);
  return { id: Number(id) };
}
