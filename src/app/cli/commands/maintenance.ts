import { OperatorError } from '../../../kernel/index.ts';
import type { SettingsService } from '../../../settings/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { withAccounts } from '../open-accounts.ts';

const STATES = ['on', 'off', 'status'];

/** Closes the gateway for new submissions, or opens it; running tasks go on. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [state = ''] = input.positionals;
  const message = option(input, 'message');
  if (!STATES.includes(state)) throw new UsageError(`"${state}" is none of ${STATES.join(', ')}`, 'maintenance');
  if (message !== undefined && state !== 'on') throw new UsageError('--message belongs to on', 'maintenance');
  const { isOn, said, unfinished } = await withAccounts(input, async ({ options, store, audit }) => {
    if (state !== 'status') {
      const changed = await change(options, state === 'on', message);
      for (const { key, before, after } of changed)
        await audit({ action: 'option.set', target: `option:${key}`, detail: { before, after } });
    }
    const values = new Map((await options.list()).map(({ key, value }) => [key, value]));
    const { unfinished } = await store.tasks.queueDepth();
    const isOn = values.get('maintenance.enabled') === 'true';
    return { isOn, said: values.get('maintenance.message') ?? '', unfinished };
  });
  const lines = [
    isOn
      ? `closed for new submissions: clients get 503 with "${said}"; running nodes follow within SYNC_FREQUENCY seconds`
      : 'open for new submissions',
    `${unfinished} tasks have not ended${isOn ? ' and go on; "taskgate maintenance status" counts again' : ''}`,
  ];
  answer(input, { ok: true, maintenance: isOn, message: said, unfinished }, lines.join('\n'));
  return EXIT.ok;
}

async function change(options: SettingsService, isOn: boolean, message: string | undefined) {
  const done = await options.change([
    ...(message === undefined ? [] : [{ key: 'maintenance.message', value: message }]),
    { key: 'maintenance.enabled', value: String(isOn) },
  ]);
  if (!done.ok) throw new OperatorError(done.error.map((fault) => fault.message).join('; '));
  return done.value.changed;
}
