import type { Socket } from 'bun';

/**
 * The least that passes bytes on with this runtime: each connection is joined to one of the
 * target's, and what one side sends is written to the other as it is. A side that reads slowly
 * makes the other wait. Started as a process of its own with the target's port; prints its own.
 */
type Side = { other?: Socket<Side>; waiting: Uint8Array[] };

const target = { hostname: '127.0.0.1', port: Number(process.argv[2]) };
const handlers = {
  data({ data: { other, waiting } }: Socket<Side>, chunk: Uint8Array) {
    if (!other) waiting.push(chunk);
    else pass(other, chunk);
  },
  drain(socket: Socket<Side>) {
    const [rest] = socket.data.waiting.splice(0);
    if (rest) pass(socket, rest);
  },
  close({ data: { other } }: Socket<Side>) {
    other?.end();
  },
};

const listener = Bun.listen<Side>({
  hostname: target.hostname,
  port: 0,
  socket: {
    ...handlers,
    async open(client) {
      client.data = { waiting: [] };
      const vendor = await Bun.connect<Side>({ ...target, data: { other: client, waiting: [] }, socket: handlers });
      client.data.other = vendor;
      for (const chunk of client.data.waiting.splice(0)) pass(vendor, chunk);
    },
  },
});
process.stdout.write(`${listener.port}\n`);

function pass(to: Socket<Side>, chunk: Uint8Array): void {
  const written = to.write(chunk);
  if (written < chunk.length) {
    to.data.waiting.push(chunk.subarray(written));
    to.data.other?.pause();
  } else to.data.other?.resume();
}
