import type { SettingsService } from '../../../settings/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option } from '../command.ts';
import { readPassword, withAccounts } from '../open-accounts.ts';

/**
 * Sets the password from standard input and ends all sessions of the account. `--reset-factors`
 * also removes every other sign-in method. For root this is the recovery, so it switches signing in
 * with a password on again.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
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
    return { ...done, switchedOn, passwordLogin: await isPasswordLoginOn(options) };
  });
  const lines = [`password of "${reset.username}" set; all its sessions have ended`];
  if (resetFactors) {
    lines.push('two-factor, backup codes, passkeys and the personal access token are removed');
    lines.push('bound identities and the mail address are removed: bind them again after signing in');
  }
  if (reset.switchedOn)
    lines.push(
      'signing in with a password was off and is on again; a running gateway follows within SYNC_FREQUENCY seconds',
    );
  if (!reset.passwordLogin)
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
      password_login: reset.passwordLogin,
    },
    lines.join('\n'),
  );
  return EXIT.ok;
}

const isPasswordLoginOn = async (options: SettingsService): Promise<boolean> =>
  (await options.list()).some(({ key, value }) => key === 'PasswordLoginEnabled' && value === 'true');

/** Returns whether it was off. */
async function switchOnPasswords(options: SettingsService): Promise<boolean> {
  const done = await options.change([{ key: 'PasswordLoginEnabled', value: 'true' }]);
  return done.ok && done.value.changed.length > 0;
}
