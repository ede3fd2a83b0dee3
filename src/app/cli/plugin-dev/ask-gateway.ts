import { request } from 'node:http';
import { type Json, parseJson } from '../../../kernel/index.ts';

/** The most of a download that is read; the rest is discarded. */
const MAX_BYTES = 1024 * 1024;

type Asked = { method?: 'GET' | 'POST'; apiKey: string; body?: Json };
export type GatewayAnswer = { status: number; body: Json | undefined };

/** One request to the gateway in this process. Of an answer that is no JSON there is no body. */
export function askGateway(url: string, { method = 'GET', apiKey, body }: Asked): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const sent = request(url, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        if (bytes < MAX_BYTES) chunks.push(chunk);
        bytes += chunk.length;
      });
      answer.on('end', () => {
        const text = bytes > MAX_BYTES ? '' : Buffer.concat(chunks).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, body: parseJson(text) as Json | undefined });
      });
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
