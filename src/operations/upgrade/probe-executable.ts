import { isObject, parseJson } from '../../kernel/index.ts';

export type ProbedExecutable = {
  version: string;
  /** The number of the last migration that it knows; `undefined` for versions that do not say. */
  database: number | undefined;
};

const TIMEOUT_MS = 30_000;

/** Starts an executable to ask for its version; `undefined` if it does not run here. */
export async function probeExecutable(path: string): Promise<ProbedExecutable | undefined> {
  const { body } = await runForJson([path, 'version', '--json']);
  if (!isObject(body) || body.name !== 'taskgate' || typeof body.version !== 'string') return undefined;
  const { version, database } = body;
  return { version, database: Number.isSafeInteger(database) ? Number(database) : undefined };
}

/** Runs a command that answers with one line of JSON, in this process's environment. */
export async function runForJson(command: string[]): Promise<{ code: number; body: unknown }> {
  try {
    const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore', timeout: TIMEOUT_MS });
    const text = await new Response(child.stdout).text();
    return { code: await child.exited, body: parseJson(text) };
  } catch {
    return { code: -1, body: undefined };
  }
}
