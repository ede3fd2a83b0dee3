import { readEnvironment } from '../../config/config.ts';
import { readClientSettings } from '../client/client-settings.ts';
import { followTask, reportTask } from '../client/follow-task.ts';
import { createGatewayClient } from '../client/gateway-client.ts';
import { type CommandInput, type ExitCode, option } from '../command.ts';

/** Shows a task, and downloads what it has made. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const client = createGatewayClient(readClientSettings(readEnvironment()));
  const [id = ''] = input.positionals;
  const waits = input.values.wait === true || option(input, 'out') !== undefined;
  const task = await (waits ? followTask(client, id, input.io) : client.get(`/tasks/${encodeURIComponent(id)}`));
  return reportTask(client, task, input);
}
