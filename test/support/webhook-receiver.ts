/**
 * A client's receiver of webhooks on a loopback port, and verification as its owner would write it,
 * with nothing of the product's.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Received = {
  id: string;
  headers: IncomingHttpHeaders;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: payloads are compared field by field
  payload: any;
};
export type Answer = (received: Received, response: ServerResponse) => void | Promise<void>;

export type Receiver = {
  url: string;
  port: number;
  received: Received[];
  /** What it answers from now on; 204 until then. */
  answer(how: Answer): void;
  stop(): Promise<void>;
};

export async function startReceiver(port = 0, address = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = [];
  let how: Answer = (_, response) => void response.writeHead(204).end();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const one = {
        id: String(request.headers['webhook-id']),
        headers: request.headers,
        body,
        payload: JSON.parse(body),
      };
      received.push(one);
      void how(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}/hook?token=of-the-receiver`,
    port: bound,
    received,
    answer(next) {
      how = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * How many of a message's signatures this secret verifies, by the text of the Standard Webhooks
 * specification.
 */
export function verified({ headers, body }: Received, secret: string): number {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(content).digest();
  if (Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) > 300) return 0;
  return readSignatures(headers).filter((text) => {
    const [version, signature = ''] = text.split(',');
    const given = Buffer.from(signature, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  }).length;
}

export const readSignatures = (headers: IncomingHttpHeaders): string[] =>
  String(headers['webhook-signature']).split(' ');
