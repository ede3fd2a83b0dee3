import { freePort } from '../../test/support/free-port.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../../test/support/gateway.ts';

/** Pause before a node that could not start is started again, as a supervisor does. */
const START_AGAIN_MS = 1000;
const KILL_EVERY_MS = 10_000;

export type Nodes = {
  /** Where clients send their requests; a node may be down at the moment. */
  urls: string[];
  first: Gateway;
  counts: { kills: number; starts: number; failedStarts: number };
  /** SIGKILL for the next node in turn; it is started again at once. Resolves when it serves. */
  killNext(): Promise<void>;
  /** Messages of warnings and errors in the nodes' logs, by number. */
  complaints(): [message: string, count: number][];
  /** SIGTERM to all; gives their exit codes. */
  stop(): Promise<number[]>;
};

/**
 * Nodes on one database, of which `first` has been started already. Each keeps its port over its
 * lives.
 */
export async function keepNodes(first: Gateway, count: number, options: GatewayOptions): Promise<Nodes> {
  const counts = { kills: 0, starts: 0, failedStarts: 0 };
  const nodes: Gateway[] = [first];
  const logs: string[] = [];
  const start = async (at: GatewayOptions): Promise<Gateway> => {
    for (;;) {
      try {
        const gateway = await startGateway(at);
        counts.starts += 1;
        return gateway;
      } catch (error) {
        counts.failedStarts += 1;
        logs.push(error instanceof Error ? error.message : String(error));
        await Bun.sleep(START_AGAIN_MS);
      }
    }
  };
  for (let i = 1; i < count; i += 1) nodes.push(await start({ ...options, port: await freePort() }));
  let turn = 0;
  return {
    urls: nodes.map(({ url }) => url),
    first,
    counts,
    async killNext() {
      const index = turn++ % nodes.length;
      const node = nodes[index] as Gateway;
      await node.kill();
      counts.kills += 1;
      logs.push(node.log());
      nodes[index] = await start({ ...options, port: node.port, dataDir: node.dataDir });
    },
    complaints: () => countComplaints([...logs, ...nodes.map((node) => node.log())]),
    stop: () => Promise.all(nodes.map((node) => node.stop())),
  };
}

/** SIGKILL for one node after the other, until `signal` is aborted. */
export async function killInTurn(killNext: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let next = performance.now() + KILL_EVERY_MS; !signal.aborted; await Bun.sleep(100)) {
    if (performance.now() < next) continue;
    next += KILL_EVERY_MS;
    await killNext();
  }
}

function countComplaints(logs: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const line of logs.flatMap((log) => log.split('\n'))) {
    if (!line.startsWith('{')) continue;
    const { level, msg, err } = JSON.parse(line) as {
      level?: string | number;
      msg?: string;
      err?: { message?: string };
    };
    if (!['warn', 'error', 'fatal', 40, 50, 60].includes(level ?? '')) continue;
    const message = `${level}: ${msg}${err?.message ? ` (${err.message.slice(0, 120)})` : ''}`;
    counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}
