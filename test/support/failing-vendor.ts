/**
 * A vendor of the demo plugin and of the relay that fails each order in the way its prompt says,
 * and counts the orders of each prompt.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export type FailingVendor = { url: string; orders(prompt: string): number; stop(): Promise<void> };

/** How an order fails; other prompts get an answer with this status. */
const FAILURES: Record<string, (response: ServerResponse) => void> = {
  drop: (response) => response.destroy(),
  silence: () => {},
  html: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  half: (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
    response.write('{"id": "');
    setTimeout(() => response.destroy(), 20);
  },
};

/** A prompt is `<failure> <anything that tells orders apart>`: `503 video`, `drop response`. */
export async function startFailingVendor(): Promise<FailingVendor> {
  const counts = new Map<string, number>();
  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const body = Buffer.concat(chunks).toString();
    const prompt = /<([^<>]+)>/.exec(body)?.[1] ?? '';
    counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
    const [failure = ''] = prompt.split(' ');
    const fail = FAILURES[failure];
    if (fail) return fail(response);
    response.writeHead(Number(failure), { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: 'no', code: 'no' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    orders: (prompt) => counts.get(prompt) ?? 0,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
