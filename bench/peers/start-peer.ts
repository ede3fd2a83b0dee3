import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

/** What each program is asked that can do it: answers differ in form, not in what they are for. */
export const PEER_ROWS = [
  'session read',
  'first page of 1,000 rows',
  'read of one row',
  'durable write of one row',
  'relayed chat',
  'relayed stream of 100 events',
] as const;
export type PeerRow = (typeof PEER_ROWS)[number];

export type Peer = {
  name: string;
  port: number;
  pid: number;
  /** The text of a request for each row that the program can do. */
  requests: Partial<Record<PeerRow, string>>;
  stop(): Promise<void>;
};

/** A vendor of chats that all programs relay to. */
export type ChatAddress = { url: string; key: string; model: string };

const READY_MS = 30_000;

/** Starts a program on a port and in a folder of its own, and waits until it answers `path`. */
export async function startProgram(
  command: (place: { port: number; folder: string }) => string[],
  {
    path,
    env = () => ({}),
  }: { path: string; env?: (place: { port: number; folder: string }) => Record<string, string> },
) {
  const place = { port: await freePort(), folder: temporaryFolder() };
  const child = Bun.spawn(command(place), {
    cwd: place.folder,
    env: { PATH: process.env.PATH ?? '', HOME: place.folder, ...env(place) },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const url = `http://127.0.0.1:${place.port}`;
  const deadline = performance.now() + READY_MS;
  while (
    !(await fetch(url + path).then(
      (answer) => answer.ok,
      () => false,
    ))
  ) {
    if (performance.now() > deadline || child.exitCode !== null) throw new Error(`${command(place)[0]} does not serve`);
    await Bun.sleep(50);
  }
  return {
    ...place,
    url,
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** Calls a program's JSON API. @throws for any other status than 200 */
export async function callPeer<Answer>(
  url: string,
  { method = 'POST', token = '', body }: { method?: string; token?: string; body?: unknown } = {},
): Promise<Answer> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: token }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${method} ${url} was answered ${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as Answer;
}
