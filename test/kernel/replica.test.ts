import { afterEach, describe, expect, test } from 'bun:test';
import { createReplica, type Logger, type Replica, silentLogger } from '../../src/kernel/index.ts';
import { until } from '../support/until.ts';

type Topic = 'mine' | 'other';

const HOUR_MS = 3_600_000;
let replica: Replica | undefined;
afterEach(() => replica?.stop());

/** A replica of `read`, the values that it has applied, and a way to publish. */
function follow(read: () => Promise<number>, { intervalMs = HOUR_MS, logger = silentLogger } = {}) {
  const applied: number[] = [];
  const listeners = new Set<(topic: Topic) => void>();
  const created = createReplica<number, Topic>({
    topic: 'mine',
    read,
    apply: (value) => void applied.push(value),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    intervalMs,
    logger,
  });
  replica = created;
  const publish = async (topic: Topic) => {
    for (const listener of listeners) listener(topic);
    await Promise.resolve();
  };
  return { replica: created, applied, publish, listeners };
}

const counting = () => {
  let reads = 0;
  return async () => {
    reads += 1;
    return reads;
  };
};

describe('a replica', () => {
  test('reads at its start and whenever its topic is published, until it is stopped', async () => {
    const { replica, applied, publish, listeners } = follow(counting());
    await replica.start();
    expect(applied).toEqual([1]);
    await publish('other');
    await publish('mine');
    await Bun.sleep(0);
    expect(applied).toEqual([1, 2]);
    replica.stop();
    expect(listeners.size).toBe(0);
  });

  test('reads again at every interval', async () => {
    const { replica, applied } = follow(counting(), { intervalMs: 5 });
    await replica.start();
    await until(() => applied.length >= 3);
    expect(applied.slice(0, 3)).toEqual([1, 2, 3]);
  });

  test('never puts an older reading over a newer one, whichever answers first', async () => {
    const answers: ((value: number) => void)[] = [];
    const { replica, applied } = follow(() => new Promise((resolve) => answers.push(resolve)));
    const [first, second] = [replica.load(), replica.load()];
    answers[1]?.(2);
    await second;
    answers[0]?.(1);
    await first;
    expect(applied).toEqual([2]);
  });

  test('whose first reading fails rejects its start and follows nothing', async () => {
    const { replica, listeners } = follow(() => Promise.reject(new Error('away')));
    await expect(replica.start()).rejects.toThrow('away');
    expect(listeners.size).toBe(0);
  });

  test('follows changes from before its first reading', async () => {
    const { replica, listeners } = follow(async () => listeners.size);
    await replica.start();
    expect(listeners.size).toBe(1);
    replica.stop();
  });

  test('that is stopped during its first reading follows nothing afterwards', async () => {
    const reading = Promise.withResolvers<number>();
    let readings = 0;
    const { replica, listeners } = follow(
      () => {
        readings += 1;
        return reading.promise;
      },
      { intervalMs: 1 },
    );
    const started = replica.start();
    replica.stop();
    reading.resolve(1);
    await started;
    await Bun.sleep(20);
    expect([readings, listeners.size]).toEqual([1, 0]);
  });

  test('whose later reading fails logs that and keeps what it has', async () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (_, message) => void warnings.push(message ?? '') };
    let fails = false;
    const { replica, applied } = follow(() => (fails ? Promise.reject(new Error('away')) : Promise.resolve(1)), {
      logger,
    });
    await replica.start();
    fails = true;
    await replica.reload();
    expect(applied).toEqual([1]);
    expect(warnings).toEqual(['mine could not be read again; the last known state stays in use']);
    await expect(replica.load()).rejects.toThrow('away');
  });
});
