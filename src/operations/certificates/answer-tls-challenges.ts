import { once } from 'node:events';
import { createServer } from 'node:tls';
import type { Clock, Logger } from '../../kernel/index.ts';
import { createSelfSigned } from './make-certificates.ts';
import type { AnswerChallenge } from './types.ts';

/** RFC 8737, section 6.2. */
const PROTOCOL = 'acme-tls/1';
const HANDSHAKE_MS = 10_000;
const REOPEN_MS = 50;
const REOPEN_SLOWLY_MS = 1000;
/** After ten seconds somebody should know. */
const QUICK_TRIES = 200;

/** Frees the port of the gateway until `reopen` is called. */
export type LendPort = () => Promise<{ host: string; port: number; reopen(): void }>;

/**
 * Answers TLS-ALPN-01 on the gateway's own port. The runtime's HTTP listener negotiates no protocol
 * in the handshake, while its bare TLS listener does, so the one makes room for the other. For the
 * seconds that a challenge takes, handshakes of everybody else are refused.
 */
export function createTlsChallenges(deps: { lend: LendPort; clock: Clock; logger: Logger }): AnswerChallenge {
  const { lend, clock } = deps;
  return async ({ name, keyAuthorization }) => {
    const certificate = createSelfSigned([name], { nowMs: clock.nowMs(), days: 1, keyAuthorization });
    const { host, port, reopen } = await lend();
    const options = { ...certificate, ALPNProtocols: [PROTOCOL], handshakeTimeout: HANDSHAKE_MS };
    const server = createServer(options, (socket) => socket.end());
    // A client that offers another protocol, or none.
    server.on('tlsClientError', (_, socket) => socket.destroy());
    try {
      server.listen({ host, port });
      await once(server, 'listening');
    } catch (error) {
      await reopenSocket(reopen, deps);
      throw error;
    }
    return async () => {
      // Not waited for: somebody may hold a connection open.
      server.close();
      await reopenSocket(reopen, deps);
    };
  };
}

/**
 * The system may need a moment to free the port, or another program has taken it. Never given up:
 * without the port the gateway would serve nobody. Once the gateway stops, `reopen` does nothing.
 */
async function reopenSocket(reopen: () => void, { clock, logger }: { clock: Clock; logger: Logger }): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return reopen();
    } catch (error) {
      if (attempt === QUICK_TRIES) {
        logger.error({ err: error }, 'the port cannot be opened again after a challenge; nobody is served until it is');
      }
      await clock.sleep(attempt < QUICK_TRIES ? REOPEN_MS : REOPEN_SLOWLY_MS);
    }
  }
}
