import { readdirSync, readFileSync } from 'node:fs';

/** The ids of a process's children, of which those that have a word in their command line. Linux. */
export function childrenOf(pid: number, word = ''): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' '))
    .filter((id) => id !== '')
    .map(Number)
    .filter((id) => commandOf(id).includes(word));
}

/** Empty when the process is gone. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
