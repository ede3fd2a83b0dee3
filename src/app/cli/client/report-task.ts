import type { JsonObject } from '../../../kernel/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option } from '../command.ts';
import { downloadResults } from './follow-task.ts';
import type { GatewayClient } from './gateway-client.ts';

/** Says how a task is, and downloads its results where `--out` asks for them. */
export async function reportTask(client: GatewayClient, task: JsonObject, input: CommandInput): Promise<ExitCode> {
  const folder = option(input, 'out');
  const id = String(task.id);
  const hasSucceeded = task.status === 'SUCCESS';
  const files = folder !== undefined && hasSucceeded ? await downloadResults(client, id, folder) : [];
  const lines = [
    task.status === 'FAILURE' ? `${id} failed: ${String(task.fail_reason)}` : `${id} ${String(task.status)}`,
    ...files,
  ];
  answer(input, { ...task, ...(folder === undefined ? {} : { files }) }, lines.join('\n'));
  return task.status === 'FAILURE' ? EXIT.failed : EXIT.ok;
}
