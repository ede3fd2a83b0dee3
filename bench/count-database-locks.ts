const SECONDS = 5;

/**
 * How often a second a process takes or gives back a lock of its SQLite files: twice for each read,
 * more for a write. `undefined` where `strace` is missing or may not look.
 */
export async function countDatabaseLocks(pid: number): Promise<number | undefined> {
  const strace = Bun.which('strace');
  if (strace === null) return undefined;
  const child = Bun.spawn([strace, '-f', '-q', '-c', '-e', 'trace=fcntl', '-p', String(pid)], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const stop = setTimeout(() => child.kill('SIGINT'), SECONDS * 1000);
  const text = await new Response(child.stderr).text();
  clearTimeout(stop);
  const calls = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s.*fcntl$/m.exec(text)?.[1];
  if (calls !== undefined) return Number(calls) / SECONDS;
  return text.includes('attach') ? undefined : 0;
}
