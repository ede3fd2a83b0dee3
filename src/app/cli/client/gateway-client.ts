import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { isObject, type JsonObject, OperatorError, parseJson } from '../../../kernel/index.ts';
import type { ClientSettings } from './client-settings.ts';

/** Longer than the gateway waits for a change, and than a submission takes. */
const TIMEOUT_MS = 330_000;
/** More than the images of one relayed request in Base64. */
const MAX_ANSWER_BYTES = 80 * 1024 * 1024;
/** Requests that are safe to send again are, when the connection fails. */
const ATTEMPTS = 3;
const MAX_REDIRECTS = 3;

export type GatewayClient = {
  /** JSON of a path below `/v1`. @throws OperatorError with the gateway's words */
  get(path: string): Promise<JsonObject>;
  /** Submits once, however often the connection fails: `idempotencyKey` names the request. */
  post(path: string, body: JsonObject, idempotencyKey: string): Promise<JsonObject>;
  /**
   * Downloads a path below `/v1`, or from an address elsewhere, into a file that is there whole or
   * not at all. Returns the file.
   */
  download(place: string, name: (mimeType: string) => string): Promise<string>;
};

/** Calls a gateway with an API key. */
export function createGatewayClient({ url, key }: ClientSettings): GatewayClient {
  const call = async (method: string, path: string, sent?: { body: JsonObject; idempotencyKey: string }) => {
    const body = sent && JSON.stringify(sent.body);
    const headers = {
      authorization: `Bearer ${key}`,
      ...(sent ? { 'content-type': 'application/json', 'idempotency-key': sent.idempotencyKey } : {}),
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await open(`${url}/v1${path}`, { method, headers, body });
        return readAnswer(response.statusCode ?? 0, await readText(response));
      } catch (error) {
        if (error instanceof OperatorError) throw error;
        if (attempt === ATTEMPTS) throw new OperatorError(`${url} gives no answer: ${describe(error)}`);
      }
    }
  };
  return {
    get: (path) => call('GET', path),
    post: (path, body, idempotencyKey) => call('POST', path, { body, idempotencyKey }),
    async download(place, name) {
      const isElsewhere = /^https?:/i.test(place);
      let address = isElsewhere ? place : `${url}/v1${place}`;
      let headers: Record<string, string> = isElsewhere ? {} : { authorization: `Bearer ${key}` };
      for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
        const response = await open(address, { method: 'GET', headers });
        const status = response.statusCode ?? 0;
        const { location } = response.headers;
        if (status >= 300 && status < 400 && location !== undefined) {
          response.resume();
          // The key is for the gateway alone; a link to the place of the files needs none.
          address = new URL(location, address).href;
          if (new URL(address).origin !== new URL(url).origin) headers = {};
          continue;
        }
        if (status !== 200) throw refusal(status, await readText(response));
        const file = name(response.headers['content-type'] ?? '');
        const part = `${file}.part`;
        try {
          await pipeline(response, createWriteStream(part));
          await rename(part, file);
        } catch (error) {
          await rm(part, { force: true });
          throw new OperatorError(`${file} could not be downloaded: ${describe(error)}`);
        }
        return file;
      }
      throw new OperatorError(`${place} is redirected too often`);
    },
  };
}

type Outgoing = { method: string; headers: Record<string, string>; body?: string | undefined };

function open(address: string, { method, headers, body }: Outgoing): Promise<IncomingMessage> {
  const openRequest = address.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = openRequest(address, { method, headers, timeout: TIMEOUT_MS, agent: false }, resolve);
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', reject);
    request.end(body);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw new OperatorError('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readAnswer(status: number, text: string): JsonObject {
  if (status < 200 || status > 299) throw refusal(status, text);
  const answer = parseJson(text);
  if (!isObject(answer)) throw new OperatorError('the answer is not JSON: is this the address of a gateway?');
  return answer as JsonObject;
}

function refusal(status: number, text: string): OperatorError {
  const answer = parseJson(text);
  const error = isObject(answer) && isObject(answer.error) ? answer.error : {};
  return new OperatorError(typeof error.message === 'string' ? error.message : `the gateway answered ${status}`);
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
