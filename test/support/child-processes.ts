import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * The ids of a process's children, of which those that have a word in their command line. Linux.
 */
export function listChildren(pid: number, word = ''): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => childrenOfThread(pid, thread))
    .filter((id) => id !== '')
    .map(Number)
    .filter((id) => readCommand(id).includes(word));
}

/** None when the thread has ended in the meantime. */
function childrenOfThread(pid: number, thread: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ');
  } catch {
    return [];
  }
}

/** Empty when the process is gone. */
function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * What a process and all that it started are doing, for the message of a test that times out: the
 * command, where each thread stands in the kernel, open files. Empty outside of Linux.
 */
export function describeProcesses(pid: number): string {
  const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
  const state = /^State:\s*(.*)$/m.exec(read(`/proc/${pid}/status`))?.[1];
  if (state === undefined) return '';
  const lines = [
    `process ${pid} (${state}): ${command}`,
    ...list(`/proc/${pid}/task`).map(
      (thread) => `  thread ${thread}: ${describeThread(`/proc/${pid}/task/${thread}`)}`,
    ),
    ...list(`/proc/${pid}/fd`).map((fd) => `  file ${fd}: ${target(`/proc/${pid}/fd/${fd}`)}`),
  ];
  const children = attempt(() => listChildren(pid), []);
  return [lines.join('\n'), ...children.map(describeProcesses)].filter((text) => text !== '').join('\n');
}

/** Its name, the call that it is in, and the kernel's stack, which only root may read. */
function describeThread(folder: string): string {
  const stack = read(`${folder}/stack`)
    .replaceAll(/\[<0>\] |\+\S+/g, '')
    .trim()
    .split('\n')
    .join(' < ');
  const [call = ''] = read(`${folder}/syscall`).split('\n');
  return [read(`${folder}/comm`).trim(), read(`${folder}/wchan`), `call ${call}`, stack].join(', ');
}

/** Empty when the process is gone, or another person's. */
const read = (file: string): string => attempt(() => readFileSync(file, 'utf8'), '');
const list = (folder: string): string[] => attempt(() => readdirSync(folder), []);
const target = (link: string): string => attempt(() => readlinkSync(link), '');

function attempt<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}
