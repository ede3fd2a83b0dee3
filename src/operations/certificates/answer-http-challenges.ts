import { OperatorError } from '../../kernel/index.ts';

const PREFIX = '/.well-known/acme-challenge/';

/** Serves the answer to a challenge (RFC 8555, 8.3) until the returned function is called. */
export type AnswerChallenge = (challenge: { token: string; keyAuthorization: string }) => () => void;

export type HttpChallenges = { answer: AnswerChallenge; port: number; stop(): Promise<void> };

/**
 * A listener for HTTP-01, which sends browsers to HTTPS. It serves nothing else, so that no key
 * and no cookie is answered without TLS.
 *
 * @throws `OperatorError` where the port is in use or not allowed
 */
export function listenForHttpChallenges(options: {
  host: string;
  port: number;
  names: readonly string[];
}): HttpChallenges {
  const answers = new Map<string, string>();
  const serve = () =>
    Bun.serve({
      hostname: options.host,
      port: options.port,
      development: false,
      reusePort: false,
      maxRequestBodySize: 0,
      error: () => new Response(null, { status: 500 }),
      fetch(request) {
        // Without `Host`, as HTTP/1.0 allows, or with a broken one, the request has no address.
        if (!URL.canParse(request.url)) return new Response(null, { status: 400 });
        const { hostname, pathname, search } = new URL(request.url);
        const answer = pathname.startsWith(PREFIX) ? answers.get(pathname.slice(PREFIX.length)) : undefined;
        if (answer !== undefined) return new Response(answer, { headers: { 'content-type': 'text/plain' } });
        const isRead = request.method === 'GET' || request.method === 'HEAD';
        // Another name would make this an open redirect.
        if (!isRead || pathname.startsWith(PREFIX) || !options.names.includes(hostname)) {
          return new Response(null, { status: 404 });
        }
        return new Response(null, { status: 308, headers: { location: `https://${hostname}${pathname}${search}` } });
      },
    });
  const server = openPort(options, serve);
  return {
    port: server.port ?? options.port,
    answer({ token, keyAuthorization }) {
      answers.set(token, keyAuthorization);
      return () => void answers.delete(token);
    },
    stop: () => server.stop(true),
  };
}

/** The port is not that of the gateway, so the gateway's own advice would mislead. */
function openPort<T>({ host, port }: { host: string; port: number }, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const where = `port ${port} on ${host}, where ACME verifies the names,`;
    const another = 'name another port by ACME_HTTP_PORT and forward port 80 to it';
    if (code === 'EADDRINUSE') throw new OperatorError(`${where} is in use: stop the other program, or ${another}`);
    if (code === 'EACCES') throw new OperatorError(`${where} may not be used by this user: ${another}`);
    throw error;
  }
}
