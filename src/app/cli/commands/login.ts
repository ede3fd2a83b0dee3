import { OperatorError } from '../../../kernel/index.ts';
import { readEnvironment } from '../../config/config.ts';
import { askSecret } from '../ask-secret.ts';
import { normalizeUrl, writeClientSettings } from '../client/client-settings.ts';
import { createGatewayClient } from '../client/gateway-client.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';

/** Tries an API key, and remembers it with its gateway. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const url = normalizeUrl(input.positionals[0] ?? '');
  const given = input.values['key-stdin'] === true ? await input.io.readStdin() : await askSecret('API key: ');
  const key = given?.trim() ?? '';
  if (key === '') throw new OperatorError('an API key is needed: enter it at the terminal, or give --key-stdin');
  const { data } = await createGatewayClient({ url, key }).get('/models');
  const models = Array.isArray(data) ? data.length : 0;
  const file = writeClientSettings(readEnvironment(), { url, key });
  answer(input, { ok: true, url, models, file }, `logged in to ${url}, which offers ${models} models (${file})`);
  return EXIT.ok;
}
