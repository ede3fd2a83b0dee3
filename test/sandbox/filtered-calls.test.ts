/** What code reaches that escapes from WebAssembly into a sandbox process. */
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/kernel/index.ts';
import { listChildren } from '../support/child-processes.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { BINARY, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { hook, MEBIBYTE, mainProgram, plugin, startSandbox } from './start-sandbox.ts';

const EPERM = 1;
const ENOSYS = 38;

/** Whether the kernel filters the calls of each thread, and keeps it from getting rights. */
const threadsFor = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
      return [...status.matchAll(/^(?:NoNewPrivs|Seccomp):\s+\d+/gm)].join(' ').replaceAll('\t', ' ');
    } catch {
      // It has ended.
      return [];
    }
  });

describe.skipIf(process.platform !== 'linux')('an escape into a sandbox process', () => {
  test('opens no file, socket, process, namespace or queue, and changes no limit or right', async () => {
    const script = join(import.meta.dir, 'run-system-calls.ts');
    const child = Bun.spawn([process.execPath, script], { stdio: ['ignore', 'pipe', 'inherit', 'pipe'] });
    const { before, refused, allowed } = JSON.parse(await new Response(child.stdout).text());
    expect(await child.exited).toBe(0);
    expect(before).toBe(0);
    const { 'clone3, a process': clone3, ...others } = refused;
    expect(clone3).toBe(ENOSYS);
    expect(Object.entries(others).filter(([, errno]) => errno !== EPERM)).toEqual([]);
    expect(Object.keys(others).length).toBeGreaterThan(50);
    expect(Object.entries(allowed).filter(([, errno]) => errno !== 0)).toEqual([]);
  });

  for (const [name, command] of [
    ['the executable', [BINARY, '__sandbox']],
    ...(IS_FULL_RUN ? [['the source', mainProgram] as const] : []),
  ] as const) {
    test(`meets the filter on every thread of every process of ${name}, whatever they went through`, async () => {
      const before = new Set(listChildren(process.pid, '__sandbox'));
      const sandbox = startSandbox({ processes: 2 }, systemClock, [...command]);
      const strict = startSandbox({ processes: 1, callTimeoutMs: 3000 }, systemClock, [...command]);
      const seen = new Set<number>();
      const look = (): void => {
        for (const pid of listChildren(process.pid, '__sandbox').filter((child) => !before.has(child))) {
          const threads = threadsFor(pid);
          // A process that has not said that it is ready has no plugin yet.
          if (!threads[0]?.includes('Seccomp: 2')) continue;
          expect(new Set(threads)).toEqual(new Set(['NoNewPrivs: 1 Seccomp: 2']));
          seen.add(pid);
        }
      };
      const busy = plugin(`
        export function echo(x) { return x }
        export function grow() { const a = []; for (let i = 0; i < 20000; i++) a.push('x'.repeat(900) + i); return a.length }
        export function fill() { const a = []; for (;;) a.push(new Array(10000).fill(1)) }
        export function hang() { return new Array(2 ** 32 - 1).includes(1) }
        export function clock() { return new Date().getHours() === new Date().getUTCHours() && utils.uuid().length }
      `);
      const call = async (
        path: string,
        times: number,
        { args = [] as unknown[], by = sandbox } = {},
      ): Promise<string[]> => {
        const bytes = 8 * MEBIBYTE;
        const called = Array.from({ length: times }, () =>
          by.call(busy, hook(path, args, { maxArgsBytes: bytes, maxResultBytes: bytes })),
        );
        const kinds = (await Promise.all(called)).map((outcome) => (outcome.ok ? 'ok' : outcome.error.kind));
        look();
        return [...new Set(kinds)];
      };
      await Promise.all([sandbox.ready(), strict.ready()]);
      look();
      expect(await call('echo', 1500, { args: [{ a: 1 }] })).toEqual(['ok']);
      expect(await call('clock', 50)).toEqual(['ok']);
      expect(await call('grow', 6)).toEqual(['ok']);
      expect(await call('echo', 4, { args: ['x'.repeat(3 * MEBIBYTE)] })).toEqual(['ok']);
      expect(await call('fill', 1)).toEqual([expect.stringMatching(/^(memory|killed)$/)]);
      expect(await call('echo', 500, { args: [1] })).toEqual(['ok']);
      const had = seen.size;
      expect(await call('hang', 1, { by: strict })).toEqual([expect.stringMatching(/^(timeout|killed)$/)]);
      expect(await call('echo', 5, { args: [1], by: strict })).toEqual(['ok']);
      // The one that hung was killed, and another took its place.
      expect(seen.size).toBeGreaterThan(had);
      await Promise.all([sandbox.close(), strict.close()]);
    });
  }
});

describe.skipIf(process.platform !== 'linux')('taskgate doctor', () => {
  const doctor = async (prefix: string[]) => {
    const said = await runCommand(['doctor', '--json', '--data-dir', temporaryFolder()], { prefix });
    const { findings } = JSON.parse(said.out) as { findings: { check: string; level: string; message: string }[] };
    return findings.find(({ check }) => check === 'sandbox');
  };

  test('says that the system calls of plugin processes are filtered', async () => {
    expect(await doctor([])).toMatchObject({ level: 'ok', message: expect.stringContaining('are filtered') });
  });

  test('warns where the kernel cannot, and the process runs all the same', async () => {
    const withoutFilters = [process.execPath, join(import.meta.dir, 'run-without-filters.ts')];
    expect(await doctor(withoutFilters)).toEqual({
      check: 'sandbox',
      level: 'warning',
      message: expect.stringContaining('this kernel has no filter of system calls (seccomp)'),
    });
  });
});
