/** Threads that end, fail or answer late: every task is settled, and by its own thread. */
import { afterEach, expect, test } from 'bun:test';
import { createPluginWorker } from '../../src/plugins/worker/create-worker.ts';

const RealWorker = globalThis.Worker;
afterEach(() => {
  globalThis.Worker = RealWorker;
});

class FakeThread extends EventTarget {
  onmessage?: (event: { data: unknown }) => void;
  onerror?: (event: { message: string }) => void;
  ref() {}
  unref() {}
  terminate() {}
  postMessage() {}
}

/** Records the threads that are started from now on. */
function fakeThreads(refuse = () => false): FakeThread[] {
  const threads: FakeThread[] = [];
  globalThis.Worker = class extends FakeThread {
    constructor() {
      super();
      if (refuse()) throw new Error('no more threads');
      threads.push(this);
    }
  } as never;
  return threads;
}

const catchFailure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: Error) => error.message,
  );

test('a message of a terminated thread settles no other task', async () => {
  const threads = fakeThreads();
  const worker = createPluginWorker();
  const first = catchFailure(worker.run('prepare'));
  const second = worker.run('checkSource', '');
  threads[0]?.onerror?.({ message: 'broken' });
  expect(await first).toContain('broken');
  threads[0]?.onmessage?.({ data: { value: 'late' } });
  threads[0]?.onerror?.({ message: 'late' });
  threads[0]?.dispatchEvent(new Event('close'));
  threads[1]?.onmessage?.({ data: { value: [] } });
  expect(await second).toEqual([]);
  expect(threads).toHaveLength(2);
});

test('a thread that ends without an error fails its task at once', async () => {
  const threads = fakeThreads();
  const failure = catchFailure(createPluginWorker().run('prepare'));
  threads[0]?.dispatchEvent(new Event('close'));
  expect(await failure).toContain('its thread ended');
});

test('if no thread starts, the task fails, and the next task tries again', async () => {
  let refused = true;
  const threads = fakeThreads(() => refused);
  const worker = createPluginWorker();
  expect(await catchFailure(worker.run('prepare'))).toContain('no more threads');
  refused = false;
  const next = worker.run('checkSource', '');
  threads[0]?.onmessage?.({ data: { value: [] } });
  expect(await next).toEqual([]);
});

test('a task that cannot be sent to a thread fails alone', async () => {
  const worker = createPluginWorker();
  expect(await catchFailure(worker.run('checkSource', (() => '') as never))).toContain('could not be checked');
  expect(await worker.run('checkSource', 'export const meta = {};')).toBeArray();
});
