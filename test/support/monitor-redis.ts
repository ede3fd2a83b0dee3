import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * Calls `onCommand` with the words of each command that the server executes, until closed. Settles
 * once the server has begun to report. A socket of its own, not ioredis' monitor: that one fails
 * where the first report arrives together with the answer of MONITOR.
 */
export async function monitorRedis(url: string, onCommand: (words: string[]) => void): Promise<{ close(): void }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const begun = Promise.withResolvers<void>();
  socket.on('error', begun.reject);
  socket.write('MONITOR\r\n');
  createInterface({ input: socket }).on('line', (line) => {
    if (line === '+OK') begun.resolve();
    else onCommand([...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word));
  });
  await begun.promise;
  return { close: () => void socket.destroy() };
}
