/** Runs the program from source, as a process of its own, with nothing of this process's environment but what is given. */

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

export type Finished = { code: number; out: string; err: string };

export const spawnTaskgate = (argv: readonly string[], environment: Record<string, string> = {}, stdin = '') =>
  Bun.spawn([process.execPath, MAIN, ...argv], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdin: new TextEncoder().encode(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  });

export async function runTaskgate(
  argv: readonly string[],
  environment: Record<string, string> = {},
  stdin = '',
): Promise<Finished> {
  const child = spawnTaskgate(argv, environment, stdin);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}
