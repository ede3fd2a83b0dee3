import { servesTls } from '../../config/node-address.ts';
import { askLocalGateway } from '../../desktop/ask-local-gateway.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';

/** Requests `/readyz` at the configured address: exit 0 if ready, 1 if not or without an answer. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input, { staysRoot: true });
  const host = reachable(config.host);
  const scheme = servesTls(config) ? 'https' : 'http';
  const address = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${config.port}`;
  const { status, reason, body } = await askLocalGateway(address, '/readyz');
  const ready = status === 200;
  const text = ready ? `ready: ${address}` : `not ready: ${address}: ${reason}`;
  const data = { ok: ready, address, status, detail: body, error: ready ? undefined : reason };
  if (input.json || ready) answer(input, data, text);
  else input.io.err(`taskgate: ${text}\n`);
  return ready ? EXIT.ok : EXIT.failed;
}

/** A gateway on a wildcard address is reached on loopback. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);
