import type { FileStore } from '../../src/store/ports/index.ts';
import type { WaitingRules } from '../../src/tasks/index.ts';
import type { Database } from './databases.ts';
import type { Faults } from './faults.ts';
import { createFaultyStore } from './faulty-store.ts';
import { createGateway, type Gateway } from './gateway.ts';
import { createMachine, createProcessClock, type Machine, suspend } from './machine-clock.ts';
import { createNetwork, type Exchange, type Site } from './network.ts';
import type { Disturbance } from './plan.ts';
import type { Plugins } from './prepared-world.ts';
import { type ProcessLife, startLife } from './process-life.ts';
import { createStandInSandbox } from './stand-in-sandbox.ts';
import { EPOCH_MS, type World } from './world.ts';

/** A process that answers requests. */
export type Running = { gateway: Gateway; life: ProcessLife; machine: Machine };
/** When a process lived, in simulated ms; `endMs` is infinite while it does. */
export type Lifetime = { name: string; beginMs: number; endMs: number };

export type Cluster = {
  start(): void;
  /** One of the processes that answer now. */
  pick(): Running | undefined;
  /** All of them. */
  running(): readonly Running[];
  disturb(disturbance: Disturbance): void;
  readonly lifetimes: readonly Lifetime[];
  readonly exchanges: readonly Exchange[];
  /** Ends all processes, and resolves when their databases are closed. */
  end(): Promise<void>;
};

type ClusterParts = {
  world: World;
  faults: Faults;
  database: Database;
  plugins: Plugins;
  sites: ReadonlyMap<string, Site>;
  files: FileStore;
  waiting: WaitingRules;
  mostHeld: number;
  machines: number;
};

/** The machines of a gateway. A process that dies is started again, as a supervisor does. */
export function createCluster({
  world,
  faults,
  database,
  plugins,
  sites,
  files,
  waiting,
  mostHeld,
  machines: count,
}: ClusterParts): Cluster {
  const machines = Array.from({ length: count }, (_, index) => createMachine(`node${index + 1}`));
  const running = new Map<Machine, Running>();
  const lives = new Map<Machine, ProcessLife>();
  const lifetimes: Lifetime[] = [];
  const exchanges: Exchange[] = [];
  const closing = new Set<Promise<void>>();
  let ended = false;

  async function startProcess(machine: Machine): Promise<void> {
    if (ended) return;
    const name = `${machine.name}.${lifetimes.filter((each) => each.name.startsWith(`${machine.name}.`)).length + 1}`;
    const lifetime = { name, beginMs: world.nowMs(), endMs: Number.POSITIVE_INFINITY };
    lifetimes.push(lifetime);
    const life = startLife(world, name, () => faults.draw('death'));
    lives.set(machine, life);
    const place = { world, machine, life, faults };
    const clock = createProcessClock(place);
    const real = await world.real(database.open(clock));
    const gateway = createGateway({
      ...{ name, clock, random: world.random.fork(), files, waiting, mostHeld, plugins: plugins.compiled },
      store: createFaultyStore(real, {
        ...place,
        sleep: (ms) => clock.sleep(ms),
        setTime: () => database.setTime(EPOCH_MS + world.nowMs()),
      }),
      sandbox: createStandInSandbox(plugins.modules, place),
      upstream: createNetwork(place, { sites, exchanges }),
    });
    void life.died.then(async () => {
      lifetime.endMs = world.nowMs();
      running.delete(machine);
      gateway.drop();
      const closed = world.real(real.close());
      closing.add(closed);
      await closed;
      const pauseMs = faults.isHealed() ? 1000 : world.random.pick([100, 1000, 10_000, 60_000]);
      world.after(pauseMs, () => void startProcess(machine));
    });
    world.note(`${name} starts`);
    try {
      await Promise.race([gateway.start(), life.died]);
      if (life.isAlive()) running.set(machine, { gateway, life, machine });
    } catch (error) {
      life.die(`it could not start: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** As a new release begins: no more requests, then the work ends, then the process. */
  async function stopProcess(machine: Machine): Promise<void> {
    const process = running.get(machine);
    if (!process) return;
    running.delete(machine);
    world.note(`${process.life.name} stops`);
    await process.gateway.stop().catch(() => {});
    process.life.die('stopped');
  }

  return {
    lifetimes,
    exchanges,
    start() {
      for (const machine of machines) void startProcess(machine);
    },
    pick() {
      const awake = [...running.values()].filter(({ machine }) => machine.suspendedUntilMs <= world.nowMs());
      return awake[world.random.below(awake.length)];
    },
    running: () => [...running.values()],
    disturb({ kind, machine: index, ms }) {
      const machine = machines[index] as Machine;
      if (kind === 'kill') lives.get(machine)?.die('killed');
      else if (kind === 'stop') void stopProcess(machine);
      else if (kind === 'suspend') suspend(world, machine, ms);
      else {
        machine.offsetMs += ms;
        world.note(`the clock of ${machine.name} steps by ${ms} ms`);
      }
    },
    async end() {
      ended = true;
      for (const life of lives.values()) life.die('the history ends');
      await Promise.resolve();
      await Promise.all(closing);
    },
  };
}
