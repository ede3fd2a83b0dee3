import { createFrameReader } from '../frames.ts';
import type { ChildOptions, ChildProcess } from './types.ts';

/**
 * A child of Windows, where a parent cannot open the other end of a further descriptor: its channel
 * are standard input and output.
 */
export function spawnOverPipes({ command, onFrame, onExit }: ChildOptions): ChildProcess {
  const child = Bun.spawn({
    cmd: [...command],
    // The system adds what a process cannot start without.
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
    onExit,
  });
  const reader = createFrameReader();
  void (async () => {
    for await (const piece of child.stdout) for (const frame of reader.push(Buffer.from(piece))) onFrame(frame);
  })().catch(() => child.kill('SIGKILL'));
  let flushing = false;
  return {
    pid: child.pid,
    send(frame) {
      child.stdin.write(frame);
      if (flushing) return;
      flushing = true;
      queueMicrotask(() => {
        flushing = false;
        void child.stdin.flush();
      });
    },
    kill: () => child.kill('SIGKILL'),
    release: () => void child.stdin.end(),
    residentBytes: () => 0,
    ownBytes: () => 0,
    exited: child.exited,
  };
}
