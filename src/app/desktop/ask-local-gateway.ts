import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseJson } from '../../kernel/index.ts';

const TIMEOUT_MS = 5000;

/** `status` 0: no answer, for this reason. */
export type LocalAnswer = { status: number; reason: string; body: unknown };

/** Asks a gateway on this machine for a public path. */
export function askLocalGateway(address: string, path: string): Promise<LocalAnswer> {
  return new Promise((resolve) => {
    const failed = (reason: string) => resolve({ status: 0, reason, body: undefined });
    const openRequest = address.startsWith('https:') ? httpsRequest : httpRequest;
    // The certificate names the public host, not this address, and the request carries no secret.
    const options = { agent: false, timeout: TIMEOUT_MS, rejectUnauthorized: false };
    const request = openRequest(`${address}${path}`, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk.slice(0, 64 * 1024 - text.length);
      });
      response.on('error', (error) => failed(describe(error)));
      response.on('end', () => {
        const status = response.statusCode ?? 0;
        resolve({ status, reason: `${path} answered ${status}`, body: parseJson(text) });
      });
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`)));
    request.on('error', (error) => failed(describe(error)));
    request.end();
  });
}

function describe(error: NodeJS.ErrnoException): string {
  if (error.code === 'ECONNREFUSED' || error.code === 'ConnectionRefused') return 'no program listens there';
  return error.code ? `${error.code}: ${error.message}` : error.message;
}
