import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseJson } from '../../../kernel/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';

const TIMEOUT_MS = 5000;

/** Requests `/readyz` at the configured address: exit 0 if ready, 1 if not or without an answer. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  const secure = config.tlsCert !== '';
  const host = reachable(config.host);
  const address = `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${config.port}`;
  const result = await requestReadiness(secure, host, config.port);
  const ready = result.status === 200;
  const text = ready ? `ready: ${address}` : `not ready: ${address}: ${result.reason}`;
  const data = {
    ok: ready,
    address,
    status: result.status,
    detail: result.detail,
    error: ready ? undefined : result.reason,
  };
  if (input.json || ready) answer(input, data, text);
  else input.io.err(`taskgate: ${text}\n`);
  return ready ? EXIT.ok : EXIT.failed;
}

/** A gateway on a wildcard address is reached on loopback. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

type Readiness = { status: number; reason: string; detail: unknown };

function requestReadiness(secure: boolean, host: string, port: number): Promise<Readiness> {
  return new Promise((resolve) => {
    const failed = (reason: string) => resolve({ status: 0, reason, detail: undefined });
    const openRequest = secure ? httpsRequest : httpRequest;
    // The certificate names the public host, not this address, and the request carries no secret.
    const request = openRequest(
      { host, port, path: '/readyz', agent: false, timeout: TIMEOUT_MS, rejectUnauthorized: false },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk.slice(0, 64 * 1024 - body.length);
        });
        response.on('error', (error) => failed(describe(error)));
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          resolve({ status, reason: `/readyz answered ${status}`, detail: parseJson(body) });
        });
      },
    );
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`)));
    request.on('error', (error) => failed(describe(error)));
    request.end();
  });
}

function describe(error: NodeJS.ErrnoException): string {
  if (error.code === 'ECONNREFUSED' || error.code === 'ConnectionRefused') return 'no program listens there';
  return error.code ? `${error.code}: ${error.message}` : error.message;
}
