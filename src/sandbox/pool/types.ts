import type { Clock, FairQueue, Logger, Sentence } from '../../kernel/index.ts';
import type { Frame, HookRequest, Reply } from '../frames.ts';
import type { SandboxFailure, SandboxLimits, SandboxModule } from '../types.ts';
import type { CallEstimates } from './estimate-calls.ts';

export type PoolFailure = Sentence & Pick<SandboxFailure, 'kind' | 'retryAfterMs'>;

/** What a process answered. `body`: the result as JSON, or empty where there is none. */
export type JobAnswer = Pick<Reply, 'console' | 'failure' | 'repeatable'> & { body: string; ms: number };

/** A call or an inspection on its way through the pool. */
export type Job = {
  owner: string;
  /** The plugin's key. */
  plugin: string;
  /** The sum of both, for the estimates. */
  callKey: string;
  module: SandboxModule;
  /** Without `path`: an inspection. */
  request: Pick<HookRequest, 'path' | 'maxResultBytes' | 'unixNow'>;
  /** A JSON array, and its length in UTF-8. */
  args: string;
  argsBytes: number;
  alreadyAdmitted: boolean;
  attempts: number;
  /**
   * The job was in a batch that ended its process. Each job of the batch is sent alone, to find
   * the one that did it.
   */
  alone?: true;
  queuedAt: number;
  /** The job was sent to a process. */
  onStart(): void;
  /** The job was sent, and is back in the queue. */
  onWait(): void;
  onReply(answer: JobAnswer): void;
  onFailure(failure: PoolFailure): void;
};

/** A message to a process: a job, or a batch of them. `expectedMs`: estimate for all its jobs. */
export type Message = { id: number; owner: string; plugin: string; jobs: Job[]; expectedMs: number };

export type Worker = {
  child: ChildProcess;
  state: 'booting' | 'ready' | 'ending';
  /** Sent and unanswered, in the order in which the child runs them; all of one plugin. */
  running: Message[];
  /** Hashes of the modules whose source the child has. */
  knownSources: Set<string>;
  /** When the first of `running` began, or the last one ended; monotonic ms. */
  since: number;
  /** Resident memory at the last check, in bytes. */
  lastBytes: number | undefined;
  /**
   * How long it is idle until it gives memory back, in ms; infinite once it has since its last
   * call.
   */
  restAfterMs: number;
  killedFor: PoolFailure | undefined;
};

export type PoolOptions = {
  limits: SandboxLimits;
  /** Starts a child process. */
  command: readonly string[];
  clock: Clock;
  logger: Logger;
  /** Called for a job that was stopped at its deadline or memory limit, or ended its process. */
  onKill(job: Job): void;
  /** Whether to send a job alone, because calls of its owner had to be stopped. */
  runsAlone(job: Job): boolean;
};

/** Everything that the pool knows. The functions of this folder take it as their first argument. */
export type PoolState = PoolOptions & {
  readonly queue: FairQueue<Job>;
  readonly workers: Set<Worker>;
  readonly estimates: CallEstimates;
  /** The last two owners of calls, the newest first; `at` is when theirs came, in monotonic ms. */
  callers: { owner: string; at: number }[];
  readonly events: PoolEvents;
  /** Resolve the promises of `ready`. */
  readyWaiters: (() => void)[];
  nextMessageId: number;
  kills: number;
  /** Why the system calls of processes are not filtered; undefined before the first is ready. */
  unfiltered: string | null | undefined;
  /** Processes in a row that ended before they were ready. */
  failedBoots: number;
  closed: boolean;
  /** The last process ended because nothing was to be done; the next call starts one. */
  isResting: boolean;
  /** Set while there are processes. */
  checkTimer: ReturnType<typeof setInterval> | undefined;
  /** The interval of `checkTimer`. */
  checkMs: number;
  lastCheckAt: number;
  /** Waiting jobs are sent at the end of this turn of the event loop. */
  sendsSoon: boolean;
  /** Set while a waiting call may need one more process. */
  growTimer: ReturnType<typeof setTimeout> | undefined;
};

/** Child processes and timers call these. */
export type PoolEvents = {
  onFrame(worker: Worker, frame: Frame): void;
  onExit(worker: Worker): void;
  onCheckTimer(): void;
  onGrowTimer(): void;
};

/** A child process and its channel. */
export interface ChildProcess {
  readonly pid: number;
  send(frame: Buffer): void;
  /** Sends SIGKILL. */
  kill(): void;
  /** Closes the channel. An idle child then exits. */
  release(): void;
  /** Resident memory in bytes; 0 where the system has no /proc or the process is gone. */
  residentBytes(): number;
  /**
   * The part that no file holds, in bytes. Pages of the program, some 40 MB of each process, come
   * and go with the system's cache of files, whatever a guest does.
   */
  ownBytes(): number;
  readonly exited: Promise<unknown>;
}

export type ChildOptions = {
  command: readonly string[];
  onFrame(frame: Frame): void;
  onExit(): void;
};
