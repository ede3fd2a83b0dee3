import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { isObject, parseJson, randomToken } from '../../kernel/index.ts';
import type { Config } from '../config/config-variables.ts';
import { listeningAddress } from '../config/node-address.ts';

export type RunningGateway = {
  address: string;
  /** Where a browser should begin: the set-up page while there is no administrator. */
  link: string;
};

/**
 * The running gateway of this configuration. On SQLite it has recorded its address in the data
 * directory; on PostgreSQL it is the one at the configured address.
 */
export async function findRunning(config: Config): Promise<RunningGateway | undefined> {
  const recorded =
    config.databaseUrl === ''
      ? readAddress(config.dataDir)
      : { address: listeningAddress(config, config.port), setupLink: undefined };
  if (recorded === undefined) return undefined;
  const { body } = await askLocalGateway(recorded.address, '/api/status');
  const data = isObject(body) ? body.data : undefined;
  // Another program may have taken the port of a gateway that crashed.
  if (!isObject(data) || typeof data.setup !== 'boolean') return undefined;
  const { address, setupLink } = recorded;
  return { address, link: data.setup ? address : (setupLink ?? address) };
}

/** Where the gateway of a data directory listens. */
type RecordedAddress = {
  address: string;
  /** Opens the set-up page, once. */
  setupLink: string | undefined;
};

const FILE = 'taskgate.address';
const MAX_BYTES = 4096;

/**
 * Records in the data directory where its gateway listens, for commands of the same user: the
 * set-up link in it opens the gateway to its reader, so nobody else may read it. Returns what
 * removes it. A gateway serves without it: `false` when it cannot be written.
 */
export function recordAddress(dataDir: string, recorded: RecordedAddress): (() => void) | false {
  const path = join(dataDir, FILE);
  const draft = `${path}.${randomToken(6)}`;
  try {
    const { address, setupLink } = recorded;
    writeFileSync(draft, `${JSON.stringify({ address, setup_url: setupLink })}\n`, { flag: 'wx', mode: 0o600 });
    renameSync(draft, path);
    return () => rmSync(path, { force: true });
  } catch {
    rmSync(draft, { force: true });
    return false;
  }
}

/** What was recorded last; a gateway that crashed has left it behind. */
function readAddress(dataDir: string): RecordedAddress | undefined {
  try {
    const text = readFileSync(join(dataDir, FILE), 'utf8');
    const value = text.length > MAX_BYTES ? undefined : parseJson(text);
    if (!isObject(value) || typeof value.address !== 'string' || !URL.canParse(value.address)) return undefined;
    return {
      address: value.address,
      setupLink: typeof value.setup_url === 'string' ? value.setup_url : undefined,
    };
  } catch {
    return undefined;
  }
}

const TIMEOUT_MS = 5000;

/** `status` 0: no answer, for this reason. */
type LocalAnswer = { status: number; reason: string; body: unknown };

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
