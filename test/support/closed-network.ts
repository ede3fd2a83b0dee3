/**
 * A network namespace that reaches nothing, not even this machine, but the ports that are let in or
 * out: sockets of the file system carry them.
 */
import net from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from './find-program.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

export type ClosedNetwork = {
  /** A program and its arguments that run a command inside. */
  prefix: readonly string[];
  stop(): Promise<void>;
};

/** `out`: a port of this machine, reached from inside. `in`: one inside, reached from here. */
type Ports = { out: number; in: number };

/** Why there can be none here. */
export function findNetworkFault(): string | undefined {
  if (findProgram(['unshare', 'nsenter', 'ip']) === null) return 'there is no unshare, nsenter or ip';
  const made = Bun.spawnSync(['unshare', '--net', 'ip', 'link', 'set', 'lo', 'up']);
  return made.exitCode === 0 ? undefined : 'this user may make no network namespace';
}

export async function closeNetwork(ports: Ports): Promise<ClosedNetwork> {
  const folder = temporaryFolder();
  const [out, inward] = [join(folder, 'out'), join(folder, 'in')];
  const servers = [await forward(out, ports.out), await forward(ports.in, inward)];
  const itself = fileURLToPath(import.meta.url);
  const inside = [process.execPath, itself, String(ports.out), out, inward, String(ports.in)];
  const child = Bun.spawn(['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"', ...inside], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let said = '';
  void (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) said += text;
  })();
  await until('the namespace is there', () => said.includes('ready'));
  return {
    prefix: ['nsenter', '--net', '--target', String(child.pid)],
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      for (const server of servers) server.close();
    },
  };
}

/** Ports of loopback by their number, sockets of the file system by their path. */
type End = number | string;

const endOptions = (end: End) => (typeof end === 'number' ? { host: '127.0.0.1', port: end } : { path: end });

async function forward(from: End, to: End): Promise<net.Server> {
  const server = net.createServer((client) => {
    const target = net.connect(endOptions(to));
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(endOptions(from), resolve));
  return server;
}

// Run as a process of its own: the end inside.
if (import.meta.main) {
  const [outPort, out, inward, inPort] = process.argv.slice(2);
  await forward(Number(outPort), out ?? '');
  await forward(inward ?? '', Number(inPort));
  process.stdout.write('ready\n');
}
