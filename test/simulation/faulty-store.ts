import { storeErrors } from '../../src/store/drivers/errors.ts';
import type { ChangeTopic, Repositories, Store } from '../../src/store/ports/index.ts';
import type { Faults } from './faults.ts';
import { never, type ProcessLife } from './process-life.ts';
import type { World } from './world.ts';

type Place = {
  world: World;
  life: ProcessLife;
  faults: Faults;
  sleep: (ms: number) => Promise<void>;
  /** Sets the clock of the database to the present. */
  setTime: () => Promise<void>;
};
type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

const PLAIN = new Set(['dialect', 'transaction', 'exclusively', 'publish', 'subscribe', 'writeFault', 'ping', 'close']);
/** SYNC_FREQUENCY: how often a process reads again what others may have changed. */
const SYNC_MS = 60_000;
const TOPICS: readonly ChangeTopic[] = ['plugins', 'channels', 'prices', 'options', 'capacity'];
/** Statements of a transaction of which one may fail. */
const FAILING_WITHIN = 8;

/**
 * The real store as one process sees it: calls take time, fail, are carried out although their
 * answer is lost, and end with the process. Nothing of a transaction is left that had not been
 * committed when its process died.
 */
export function createFaultyStore(store: Store, place: Place): Store {
  const { life } = place;
  const listeners = new Set<(topic: ChangeTopic) => void>();
  void (async () => {
    for (;;) {
      await place.sleep(SYNC_MS);
      for (const topic of TOPICS) for (const listener of listeners) listener(topic);
    }
  })();
  const repositories = Object.entries(store).filter(([name]) => !PLAIN.has(name)) as [string, Methods][];
  const wrapped = repositories.map(([name, methods]) => [name, wrapMethods(name, methods, place)] as const);
  return {
    ...store,
    ...(Object.fromEntries(wrapped) as unknown as Repositories),
    async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
      const fails = place.faults.database('inside');
      const run = () =>
        store.transaction(async (tx) => {
          if (!life.isAlive()) throw storeErrors.unavailable();
          const value = await work(fails ? failOnce(tx, place) : tx);
          if (!life.isAlive()) throw storeErrors.unavailable();
          return value;
        });
      return call(place, 'transaction', run);
    },
    subscribe(listener) {
      listeners.add(listener);
      const leave = store.subscribe(listener);
      return () => {
        listeners.delete(listener);
        leave();
      };
    },
    exclusively: (name, work) => store.exclusively(name, work),
    async publish(topic) {
      await call(place, 'publish', () => store.publish(topic));
    },
    ping: () => call(place, 'ping', () => store.ping()),
  };
}

const wrapMethods = (name: string, methods: Methods, place: Place): Methods =>
  Object.fromEntries(
    Object.entries(methods).map(([method, run]) => [
      method,
      (...args) => call(place, `${name}.${method}`, () => run(...args)),
    ]),
  );

async function call<T>(
  { world, life, faults, sleep, setTime }: Place,
  what: string,
  run: () => Promise<T>,
): Promise<T> {
  if (!life.isAlive()) return never();
  await life.pass(`before ${what}`);
  const slowMs = faults.databaseDelayMs();
  if (slowMs > 0) await sleep(slowMs);
  if (faults.database('before')) {
    world.note(`${life.name} ${what}: the database does not answer`);
    throw storeErrors.unavailable();
  }
  const settled = await world.real(
    setTime()
      .then(run)
      .then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      ),
  );
  if (!life.isAlive()) return never();
  if ('error' in settled) throw settled.error;
  await life.pass(`after ${what}`);
  if (faults.database('after')) {
    world.note(`${life.name} ${what}: the answer of the database is lost`);
    throw what === 'transaction' ? storeErrors.outcome_unknown() : storeErrors.unavailable();
  }
  return settled.value;
}

/** A transaction of which one statement fails, unless it ends before. */
function failOnce(tx: Repositories, { world, life }: Place): Repositories {
  let left = 1 + world.random.below(FAILING_WITHIN);
  const wrap = (methods: Methods): Methods =>
    new Proxy(methods, {
      get:
        (target, method: string) =>
        async (...args: unknown[]) => {
          left -= 1;
          if (left !== 0) return target[method]?.(...args);
          world.note(`${life.name} transaction: a statement fails`);
          throw storeErrors.unavailable();
        },
    });
  return new Proxy(tx, {
    get: (target, name) => wrap(target[name as keyof Repositories] as unknown as Methods),
  });
}
