/**
 * The verifier of a challenge on a loopback port: it knows which tokens are good and takes each
 * once, as Turnstile does.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export type Asked = { method: string; contentType: string; secret: string; response: string; remoteip: string };

export type ChallengeServer = {
  url: string;
  asked: Asked[];
  /** Makes a token that a person has earned. */
  solve(): string;
  /** What it does instead of verifying; undefined: it verifies. */
  misbehave(how: ((response: ServerResponse) => void) | undefined): void;
  stop(): Promise<void>;
};

export async function startChallengeServer(secret: string): Promise<ChallengeServer> {
  const good = new Set<string>();
  const used = new Set<string>();
  const asked: Asked[] = [];
  let trouble: ((response: ServerResponse) => void) | undefined;
  let solved = 0;
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await readAll(request));
    const field = (name: string) => form.get(name) ?? '';
    asked.push({
      method: request.method ?? '',
      contentType: request.headers['content-type'] ?? '',
      secret: field('secret'),
      response: field('response'),
      remoteip: field('remoteip'),
    });
    if (trouble) return trouble(response);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(verify(field('secret'), field('response'))));
  });
  function verify(given: string, token: string): { success: boolean; 'error-codes': string[] } {
    const refuse = (code: string) => ({ success: false, 'error-codes': [code] });
    if (given !== secret) return refuse('invalid-input-secret');
    if (used.has(token)) return refuse('timeout-or-duplicate');
    if (!good.delete(token)) return refuse('invalid-input-response');
    used.add(token);
    return { success: true, 'error-codes': [] };
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/turnstile/v0/siteverify`,
    asked,
    solve() {
      solved += 1;
      const token = `solved-${solved}`;
      good.add(token);
      return token;
    },
    misbehave(how) {
      trouble = how;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
