import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Below those that systems give to programs that do not choose one: from 32768 on Linux, from 49152
 * elsewhere.
 */
const LOWEST = 20_000;
const HIGHEST = 31_999;

/**
 * A loopback port that stays free until it is used, and between two uses: no system gives it away
 * by itself, and no other process of the tests takes it as long as this one lives. Servers that
 * need not know their port beforehand listen on 0 instead.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST + 1));
    if (reserve(port) && (await canListen(port))) return port;
  }
  throw new Error(`no port from ${LOWEST} to ${HIGHEST} is free`);
}

const reservations: string[] = [];
process.on('exit', () => {
  for (const file of reservations) rmSync(file, { force: true });
});

/**
 * A file that only one process can make says whose the port is; that of a process that has ended
 * counts for nothing.
 */
function reserve(port: number): boolean {
  const file = join(tmpdir(), `taskgate-port-${port}`);
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    reservations.push(file);
    return true;
  } catch {
    removeAbandoned(file);
    return false;
  }
}

function removeAbandoned(file: string): void {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') rmSync(file, { force: true });
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
