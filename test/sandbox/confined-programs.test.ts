/** Programs of the system that read what strangers made: what they can reach, and how they end. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { confinedCommand } from '../../src/app/config/sandbox-settings.ts';
import { systemClock } from '../../src/kernel/index.ts';
import { createProgramRunner } from '../../src/sandbox/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setDefaultTimeout(60_000);

const run = createProgramRunner({ command: confinedCommand(), clock: systemClock });
const limits = { timeMs: 20_000, cpuSeconds: 5, memoryBytes: 512 * 1024 * 1024, outputBytes: 10_000 };
const folder = temporaryFolder();
const secret = join(folder, 'secret');
let listener: Bun.TCPSocketListener<undefined>;
let connections = 0;
beforeAll(() => {
  writeFileSync(secret, 'database password\n');
  listener = Bun.listen<undefined>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open() {
        connections += 1;
      },
      data() {},
    },
  });
});
afterAll(() => listener.stop(true));

type Change = Partial<typeof limits> & { path?: string; input?: number; signal?: AbortSignal };

/** What a shell script writes, or the kind of its fault and the words about it. */
async function sh(script: string, { path = '/bin/sh', input, signal, ...change }: Change = {}): Promise<string> {
  const outcome = await run({
    path,
    args: ['-c', script],
    limits: { ...limits, ...change },
    input: input ?? 'ignore',
    signal: signal ?? new AbortController().signal,
  });
  return outcome.ok ? new TextDecoder().decode(outcome.value) : `${outcome.error.kind}: ${outcome.error.message}`;
}

describe.skipIf(process.platform !== 'linux')('a confined program', () => {
  test('computes, reads its input from any place, and writes to its output', async () => {
    const input = openSync(secret, 'r');
    expect(await sh('x=$((40 + 2)); echo "$x"; exec tail -c 9 /proc/self/fd/0', { input })).toBe('42\npassword\n');
    closeSync(input);
  });

  test('reading secrets: no file is open to it but its input and the programs of the system', async () => {
    expect(await sh(`if read x < ${secret}; then echo "got $x"; else echo refused; fi`)).toBe('refused\n');
    expect(await sh(`exec ls ${folder}`)).toMatch(/^failed: it ended with code 2: .*Permission denied/);
    expect(await sh('exec cat /proc/$PPID/environ')).toMatch(/Permission denied/);
    expect(await sh('exec head -c 1 /dev/zero')).toMatch(/Permission denied/);
  });

  test('writing: no file is made, changed or made readable', async () => {
    const made = join(folder, 'made');
    expect(await sh(`if echo x > ${made}; then echo written; else echo refused; fi`)).toBe('refused\n');
    expect(existsSync(made)).toBe(false);
    expect(await sh(`exec chmod 777 ${secret}`)).toMatch(/not permitted/);
    expect(await sh(`exec rm -f ${secret}`)).toMatch(/Permission denied|not permitted/);
    expect(existsSync(secret)).toBe(true);
  });

  test('calling home: there are no sockets, not even to this machine', async () => {
    const address = `/dev/tcp/127.0.0.1/${listener.port}`;
    await sh(`echo x > ${address}`, { path: '/bin/bash' });
    expect(connections).toBe(0);
    await Bun.connect({ hostname: '127.0.0.1', port: listener.port, socket: { data() {} } }).then((own) => own.end());
  });

  test('forking, and signals to the gateway or to other processes: refused', async () => {
    expect(await sh('(echo child)')).toMatch(/^failed: .*fork/i);
    expect(await sh('if kill -9 $PPID; then echo killed; else echo refused; fi')).toBe('refused\n');
  });

  test('has an empty environment and no descriptor but the three', async () => {
    const leak = openSync(secret, 'r');
    // A redirection of a builtin that fails ends only the builtin.
    const script = 'for n in {3..60}; do if command : <&$n; then echo "open $n"; fi; done; export -p; echo end';
    const said = await sh(script, { path: '/bin/bash' });
    expect(said).toContain('end');
    expect(said).not.toMatch(/open \d|SECRET|HOME|declare -x PATH/);
    closeSync(leak);
  });

  test('a hang ends by the clock, a loop by its processor time, and both end with the caller', async () => {
    const startedMs = performance.now();
    expect(await sh('exec sleep 600', { timeMs: 300 })).toBe('time: it took longer than 0.3 s');
    expect(await sh('while :; do :; done', { cpuSeconds: 1 })).toMatch(/^failed: it was ended by SIG(KILL|XCPU)/);
    const caller = new AbortController();
    const waiting = sh('exec sleep 600', { signal: caller.signal });
    caller.abort(new Error('the gateway stops'));
    expect(waiting).rejects.toThrow('the gateway stops');
    await waiting.catch(() => undefined);
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });

  test('a flood of output is cut, and a bomb of memory ends its process', async () => {
    expect(await sh('while :; do echo 0123456789012345678901234567890123456789; done')).toBe(
      'output: it wrote more than 10000 bytes',
    );
    expect(await sh('x=0123456789; while :; do x="$x$x"; done')).toMatch(/^failed: /);
    // What it says is read to its end and cut as well.
    const noisy = await sh('n=0; while [ $n -lt 2000 ]; do echo 0123456789 >&2; n=$((n + 1)); done; exit 3');
    expect(noisy).toMatch(/^failed: it ended with code 3: /);
    expect(noisy.length).toBeLessThan(2100);
  });

  test('what cannot be started is told', async () => {
    expect(await sh('', { path: join(folder, 'absent') })).toMatch(/^not_confined: /);
  });
});
