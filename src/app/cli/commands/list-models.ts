import type { JsonObject } from '../../../kernel/index.ts';
import { readEnvironment } from '../../config/config.ts';
import { readClientSettings } from '../client/client-settings.ts';
import { createGatewayClient } from '../client/gateway-client.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';

/** Lists the models that the key may use. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { data } = await createGatewayClient(readClientSettings(readEnvironment())).get('/models');
  const models = (Array.isArray(data) ? data : []) as JsonObject[];
  const lines = models.map(
    ({ id, supported_endpoint_types: types }) => `${String(id)}  ${Array.isArray(types) ? types.join(', ') : ''}`,
  );
  answer(input, models, lines.length === 0 ? 'no models' : lines.join('\n'));
  return EXIT.ok;
}
