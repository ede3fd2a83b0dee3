import { afterAll } from 'bun:test';
import { spawnCommand } from './run-command.ts';
import { until } from './until.ts';

type Event = Record<string, unknown>;

/** Long-running commands are killed at the end, also when a test fails. */
const children: Bun.Subprocess[] = [];
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(children.map(({ exited }) => exited));
});

type Options = { cwd: string; stdin?: string; env?: Record<string, string> };

/** A long-running command: its JSON events so far, and an end by Ctrl-C. */
export function keepCommandRunning(argv: readonly string[], options: Options) {
  const child = spawnCommand([...argv, '--json'], options);
  children.push(child);
  let out = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) out += decoder.decode(chunk, { stream: true });
  })();
  const error = new Response(child.stderr).text();
  const events = (): Event[] =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Event);
  return {
    events,
    text: () => out,
    wait: (what: string, check: (event: Event) => boolean): Promise<Event> =>
      until(`${what} in\n${out}`, () => events().find(check)),
    async interrupt(): Promise<{ code: number; err: string }> {
      child.kill('SIGINT');
      const code = await child.exited;
      await reading;
      return { code, err: await error };
    },
  };
}
