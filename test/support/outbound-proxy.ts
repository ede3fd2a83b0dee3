import net from 'node:net';
import tls from 'node:tls';

/** What goes wrong at a proxy, and when. */
type ProxyFault =
  | 'refuses' // answers every request with a refusal
  | 'is silent' // takes the request and says nothing
  | 'breaks' // closes instead of an answer
  | 'talks'; // sends a byte of its own into the tunnel

export type TestProxy = {
  port: number;
  url: string;
  /** What it was asked to connect to: `name:port`. */
  asked: string[];
  /** Connections that passed its login. */
  logins: number;
  /** Closes all tunnels. */
  cut(): void;
  stop(): Promise<void>;
};

type Options = {
  scheme: 'http' | 'https' | 'socks5' | 'socks5h';
  login?: { user: string; password: string };
  /** Where names lead; a name that is missing is refused. Absent: 127.0.0.1. */
  names?: Record<string, string>;
  fault?: ProxyFault;
  /** The certificate of `https`. */
  tls?: { key: string; cert: string };
};

/** A proxy that speaks CONNECT or SOCKS5, resolves names by itself, and misbehaves on demand. */
export async function startProxy({ scheme, login, names, fault, tls: keys }: Options): Promise<TestProxy> {
  const open = new Set<net.Socket>();
  const isSocks = scheme.startsWith('socks');
  const serve = async (client: net.Socket) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    client.on('error', () => {});
    const read = createReader(client);
    const target = await (isSocks ? acceptSocks(client, read, login) : acceptConnect(client, read, login));
    if (target === undefined) return client.end();
    if (login) proxy.logins += 1;
    proxy.asked.push(`${target.host}:${target.port}`);
    if (fault === 'is silent') return;
    if (fault === 'breaks') return client.destroy();
    const answer = (isGood: boolean) =>
      isSocks
        ? Buffer.from([5, isGood ? 0 : 5, 0, 1, 0, 0, 0, 0, 0, 0])
        : Buffer.from(
            isGood ? 'HTTP/1.1 200 Connection established\r\n\r\n' : 'HTTP/1.1 502 Bad Gateway\r\n\r\n<p>no way</p>',
          );
    const host = net.isIP(target.host) > 0 ? target.host : names ? names[target.host] : '127.0.0.1';
    if (fault === 'refuses' || host === undefined) return client.end(answer(false));
    const server = net.connect(target.port, host, () => {
      client.write(answer(true));
      if (fault === 'talks') client.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged');
      client.pipe(server);
      server.pipe(client);
    });
    server.on('error', () => client.end(answer(false)));
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
  };
  const listener = scheme === 'https' && keys ? tls.createServer(keys, serve) : net.createServer(serve);
  listener.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as net.AddressInfo;
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  const user = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : '';
  const proxy: TestProxy = {
    port,
    url: `${scheme}://${user}127.0.0.1:${port}`,
    asked: [],
    logins: 0,
    cut,
    async stop() {
      cut();
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
  return proxy;
}

type Target = { host: string; port: number };
/** Takes bytes from the front: as many as a function of all that came says. */
type Read = (measure: (bytes: Buffer) => number) => Promise<Buffer>;

function createReader(socket: net.Socket): Read {
  let bytes = Buffer.alloc(0);
  return (measure) =>
    new Promise((resolve) => {
      const look = () => {
        const length = measure(bytes);
        if (length === 0 || bytes.length < length) return;
        socket.removeListener('data', onData);
        const taken = bytes.subarray(0, length);
        bytes = bytes.subarray(length);
        resolve(taken);
      };
      const onData = (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        look();
      };
      socket.on('data', onData);
      look();
    });
}

async function acceptConnect(client: net.Socket, read: Read, login: Options['login']): Promise<Target | undefined> {
  const head = (await read((bytes) => (bytes.includes('\r\n\r\n') ? bytes.indexOf('\r\n\r\n') + 4 : 0))).toString();
  const expected = login && Buffer.from(`${login.user}:${login.password}`).toString('base64');
  if (expected !== undefined && !head.includes(`\r\nproxy-authorization: Basic ${expected}\r\n`)) {
    client.write('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n<p>no</p>');
    return undefined;
  }
  const [, host = '', port = ''] = /^CONNECT \[?([^\s\]]+?)\]?:(\d+) /.exec(head) ?? [];
  return { host, port: Number(port) };
}

async function acceptSocks(client: net.Socket, read: Read, login: Options['login']): Promise<Target | undefined> {
  const greeting = await read((bytes) => (bytes.length < 2 ? 0 : 2 + (bytes[1] ?? 0)));
  const method = login ? 2 : 0;
  if (!greeting.subarray(2).includes(method)) {
    client.write(Buffer.from([5, 255]));
    return undefined;
  }
  client.write(Buffer.from([5, method]));
  if (login) {
    const said = await read((bytes) => {
      const user = bytes[1] ?? 0;
      return bytes.length < 3 + user ? 0 : 3 + user + (bytes[2 + user] ?? 0);
    });
    const user = said.subarray(2, 2 + (said[1] ?? 0)).toString();
    const password = said.subarray(3 + (said[1] ?? 0)).toString();
    const isRight = user === login.user && password === login.password;
    client.write(Buffer.from([1, isRight ? 0 : 1]));
    if (!isRight) return undefined;
  }
  const size = (bytes: Buffer) => (bytes[3] === 1 ? 10 : bytes[3] === 4 ? 22 : 7 + (bytes[4] ?? 0));
  const asked = await read((bytes) => (bytes.length < 5 ? 0 : size(bytes)));
  const port = asked.readUInt16BE(asked.length - 2);
  const address = asked.subarray(4, -2);
  if (asked[3] === 1) return { host: address.join('.'), port };
  if (asked[3] === 3) return { host: address.subarray(1).toString(), port };
  const groups = Array.from({ length: 8 }, (_, i) => address.readUInt16BE(2 * i).toString(16));
  return { host: groups.join(':'), port };
}
