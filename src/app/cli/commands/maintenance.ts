import { OperatorError } from '../../../kernel/index.ts';
import { createNodeControl } from '../../../operations/nodes/drain-node.ts';
import type { SettingsService } from '../../../settings/index.ts';
import { NODE_ALIVE_SECONDS, type NodeRecord } from '../../../store/ports/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { withAccounts } from '../open-accounts.ts';

const SWITCHES = ['on', 'off', 'status'];
const NODE_STATES = ['drain', 'resume'];

/** Closes and opens the gateway for new submissions; takes one node of several out of service. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [state = '', node] = input.positionals;
  const message = option(input, 'message');
  const states = [...SWITCHES, ...NODE_STATES];
  if (!states.includes(state)) throw new UsageError(`"${state}" is none of ${states.join(', ')}`, 'maintenance');
  if (message !== undefined && state !== 'on') throw new UsageError('--message belongs to on', 'maintenance');
  const isOfNode = NODE_STATES.includes(state);
  if (isOfNode && node === undefined) throw new UsageError(`${state} needs a NODE`, 'maintenance');
  if (!isOfNode && node !== undefined) throw new UsageError('NODE belongs to drain and resume', 'maintenance');
  return node === undefined ? switchMaintenance(input, state, message) : switchNode(input, state === 'drain', node);
}

async function switchMaintenance(input: CommandInput, state: string, message?: string): Promise<ExitCode> {
  const { isOn, said, unfinished, nodes } = await withAccounts(input, async ({ options, store, audit }) => {
    if (state !== 'status') {
      const changed = await change(options, state === 'on', message);
      for (const { key, before, after } of changed)
        await audit({ action: 'option.set', target: `option:${key}`, detail: { before, after } });
    }
    const values = new Map((await options.list()).map(({ key, value }) => [key, value]));
    const { unfinished } = await store.tasks.queueDepth();
    const isOn = values.get('maintenance.enabled') === 'true';
    const nodes = store.dialect === 'sqlite' ? [] : await store.nodes.alive(NODE_ALIVE_SECONDS);
    return { isOn, said: values.get('maintenance.message') ?? '', unfinished, nodes };
  });
  const lines = [
    isOn
      ? `closed for new submissions: clients get 503 with "${said}"; running nodes follow within SYNC_FREQUENCY seconds`
      : 'open for new submissions',
    `${unfinished} tasks have not ended${isOn ? ' and go on; "taskgate maintenance status" counts again' : ''}`,
    ...nodes.map(({ id, host, drained }) => `node ${id} on ${host} is ${drained ? 'out of' : 'in'} service`),
  ];
  const shown = nodes.map(({ id, host, drained }) => ({ id, host, drained }));
  answer(input, { ok: true, maintenance: isOn, message: said, unfinished, nodes: shown }, lines.join('\n'));
  return EXIT.ok;
}

async function switchNode(input: CommandInput, drains: boolean, name: string): Promise<ExitCode> {
  const { id, host } = await withAccounts(input, async ({ store, audit }): Promise<NodeRecord> => {
    const control = createNodeControl({ store });
    const node = await (drains ? control.drain(name) : control.resume(name));
    const action = drains ? 'node.drain' : 'node.resume';
    await audit({ action, target: `node:${node.id}`, detail: { host: node.host } });
    return node;
  });
  const said = drains
    ? `node ${id} on ${host} is out of service: its /readyz answers 503 within 10 seconds, and what it has begun goes on.\nStop it when your load balancer has left it; it serves again when it is started again.`
    : `node ${id} on ${host} is in service again; its /readyz follows within 10 seconds`;
  answer(input, { ok: true, node: id, host, drained: drains }, said);
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
