import { expect, test } from 'bun:test';
import { join } from 'node:path';

/** In a process of its own, whose limit is used up. */
const script = `
  import { closeSync, openSync } from 'node:fs';
  import { get, testUpstream } from ${JSON.stringify(join(import.meta.dir, 'harness.ts'))};
  const server = Bun.serve({ port: 0, fetch: () => new Response('x') });
  const upstream = testUpstream();
  const held = [];
  try { for (;;) held.push(openSync('/dev/null', 'r')); } catch {}
  const answer = await upstream.request(get('http://127.0.0.1:' + server.port));
  for (const file of held) closeSync(file);
  console.log(JSON.stringify(answer.ok ? { ok: true } : { reason: answer.error.reason, message: answer.error.message }));
  process.exit(0);
`;

test('a process that may open nothing more says so, and not that the vendor refuses', async () => {
  const run = Bun.spawn(['sh', '-c', 'ulimit -n 200; exec "$0" -e "$1"', process.execPath, script], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  expect([out, err].join('')).toContain('"reason":"upstream.descriptors"');
  expect(out).toContain('LimitNOFILE');
});
