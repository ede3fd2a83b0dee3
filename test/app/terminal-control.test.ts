import { afterAll, expect, test } from 'bun:test';
import { runCommand, sourceProgram } from '../support/run-command.ts';

/** Moves the cursor up, clears the line, and sets the title of the terminal. */
const CONTROL = '\u001b[1A\u001b[2K\u001b]0;title\u0007\u009b31m\u202e';
const SHOWN = '\\u001b[1A\\u001b[2K\\u001b]0;title\\u0007\\u009b31m\\u202e';

const hostile = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/v1/models') return Response.json({ error: { message: `no${CONTROL}` } }, { status: 403 });
    const task = { id: 'task_1', status: 'FAILURE', progress: `9%${CONTROL}`, fail_reason: `why${CONTROL}` };
    return Response.json(task);
  },
});
afterAll(() => hostile.stop(true));

const run = (...argv: string[]) =>
  runCommand(argv, {
    program: sourceProgram([]),
    env: { TASKGATE_URL: hostile.url.href, TASKGATE_API_KEY: 'sk-x' },
  });

test('terminal injection: what a gateway says does not control the terminal', async () => {
  const failed = await run('get', 'task_1', '--wait');
  expect([failed.code, failed.out]).toEqual([1, `task_1 failed: why${SHOWN}\n`]);
  expect(failed.err).toBe(`task_1 failure 9%${SHOWN}\n`);
  const refused = await run('models');
  expect([refused.code, refused.err]).toEqual([1, `taskgate: no${SHOWN}\n`]);
});

test('terminal injection: JSON for programs keeps its value', async () => {
  const { out } = await run('get', 'task_1', '--json');
  expect(out).toMatch(/^[\n -~]*$/);
  expect(JSON.parse(out)).toMatchObject({ fail_reason: `why${CONTROL}` });
});
