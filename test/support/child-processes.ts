import { readdirSync, readFileSync } from 'node:fs';

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

/** None when the thread has ended meanwhile. */
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
