import { isObject, systemClock } from '../../../kernel/index.ts';
import { servesTls } from '../../config/node-address.ts';
import { askLocalGateway } from '../../desktop/find-running.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { readSettings } from '../read-settings.ts';

const WAIT_STEP_MS = 200;
/** A large database may be migrated for a while. */
const MAX_WAIT_SECONDS = 3600;

/** Requests `/readyz` at the configured address: exit 0 if ready, 1 if not or without an answer. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input, { staysRoot: true });
  const host = reachable(config.host);
  const scheme = servesTls(config) ? 'https' : 'http';
  const address = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${config.port}`;
  const waitMs = readWait(input) * 1000;
  const begun = systemClock.monotonicMs();
  let asked = await askLocalGateway(address, '/readyz');
  while (!isReady(asked) && systemClock.monotonicMs() - begun < waitMs) {
    await systemClock.sleep(WAIT_STEP_MS);
    asked = await askLocalGateway(address, '/readyz');
  }
  const { status, body } = asked;
  const ready = isReady(asked);
  const reason = status === 200 ? 'another program answers there' : asked.reason;
  const text = ready ? `ready: ${address}` : `not ready: ${address}: ${reason}`;
  const data = { ok: ready, address, status, detail: body, error: ready ? undefined : reason };
  if (input.json || ready) answer(input, data, text);
  else input.io.err(`taskgate: ${text}\n`);
  return ready ? EXIT.ok : EXIT.failed;
}

/** Another program may have the port of a gateway that is down, and answer any path. */
const isReady = ({ status, body }: { status: number; body: unknown }): boolean =>
  status === 200 && isObject(body) && body.status === 'ready';

function readWait(input: CommandInput): number {
  const seconds = Number(option(input, 'wait') ?? 0);
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_WAIT_SECONDS) return seconds;
  throw new UsageError(`--wait must be a number of seconds from 0 to ${MAX_WAIT_SECONDS}`, 'healthcheck');
}

/** A gateway on a wildcard address is reached on loopback. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);
