import { performance } from 'node:perf_hooks';
import type { Socket } from 'bun';
import { formatRequest } from './http-client.ts';

type State = { left: number; begun: number; hasHead: boolean };
export type Fetched = { files: number; bytes: number; firstByteMs: number[]; took: number };

/**
 * Fetches one file again and again over kept connections and drops its bytes unread: what holds
 * them would cost more than what sends them.
 */
export async function fetchFiles(load: {
  port: number;
  path: string;
  bytes: number;
  connections: number;
  seconds: number;
}): Promise<Fetched> {
  const { port, path, bytes, connections, seconds } = load;
  const text = formatRequest('GET', path);
  const fetched: Fetched = { files: 0, bytes: 0, firstByteMs: [], took: 0 };
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  const started = performance.now();
  let open = connections;

  const send = (socket: Socket<State>): void => {
    const begun = performance.now();
    if (begun >= started + seconds * 1000) {
      open -= 1;
      if (open === 0) finish();
      return;
    }
    socket.data = { left: bytes, begun, hasHead: false };
    socket.write(text);
  };
  const socket = {
    data(from: Socket<State>, chunk: Buffer) {
      const { data } = from;
      let size = chunk.length;
      if (!data.hasHead) {
        const head = chunk.indexOf('\r\n\r\n');
        if (head === -1 || !chunk.toString('latin1', 0, 12).endsWith(' 200')) return fail(new Error(`${chunk}`));
        fetched.firstByteMs.push(performance.now() - data.begun);
        data.hasHead = true;
        size -= head + 4;
      }
      data.left -= size;
      fetched.bytes += size;
      if (data.left > 0) return;
      fetched.files += 1;
      send(from);
    },
    close: () => fail(new Error('a connection was closed')),
    error: (_: Socket<State>, error: Error) => fail(error),
  };
  const sockets: Socket<State>[] = [];
  try {
    for (let client = 0; client < connections; client += 1) {
      const data = { left: 0, begun: 0, hasHead: false };
      sockets.push(await Bun.connect<State>({ hostname: '127.0.0.1', port, data, socket }));
    }
    for (const each of sockets) send(each);
    await Promise.race([done, failed]);
    return { ...fetched, took: (performance.now() - started) / 1000 };
  } finally {
    failed.catch(() => undefined);
    for (const each of sockets) each.terminate();
  }
}
