import { isoTime, type JsonObject } from '../../../kernel/index.ts';
import { readEnvironment } from '../../config/config.ts';
import { readClientSettings } from '../client/client-settings.ts';
import { createGatewayClient } from '../client/gateway-client.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';

/** Lists the latest tasks of the key's owner. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { data } = await createGatewayClient(readClientSettings(readEnvironment())).get('/tasks?limit=20');
  const tasks = (Array.isArray(data) ? data : []) as JsonObject[];
  const lines = tasks.map(({ id, status, progress, model, created_at: at }) =>
    [id, isoTime(Number(at) * 1000), String(status).padEnd(11), String(progress).padStart(4), model].join('  '),
  );
  answer(input, tasks, lines.length === 0 ? 'no tasks' : lines.join('\n'));
  return EXIT.ok;
}
