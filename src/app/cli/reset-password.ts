import { answer, type CommandInput, EXIT, type ExitCode, option } from './command.ts';
import { readPassword, withAccounts } from './open-accounts.ts';

/** Sets the password from standard input and ends all sessions of the account; with `--reset-factors` its factors and token go too. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const password = await readPassword(input);
  const username = option(input, 'username') ?? '';
  const resetFactors = input.values['reset-factors'] === true;
  const reset = await withAccounts(input, async ({ auth, audit }) => {
    const done = await auth.passwords.reset({ username, password, resetFactors });
    const detail = { username: done.username, reset_factors: resetFactors };
    await audit({ action: 'user.password_reset', userId: done.userId, detail });
    return done;
  });
  const lines = [`password of "${reset.username}" set; all its sessions have ended`];
  if (resetFactors) lines.push('two-factor, backup codes, passkeys and the personal access token are removed');
  if (reset.twoFactor) lines.push('signing in still asks for a second factor; --reset-factors removes it');
  answer(
    input,
    {
      ok: true,
      user_id: reset.userId,
      username: reset.username,
      reset_factors: resetFactors,
      two_factor: reset.twoFactor,
    },
    lines.join('\n'),
  );
  return EXIT.ok;
}
