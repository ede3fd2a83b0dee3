import type { Json, ReportCacheSize, Result, Sentence } from '../kernel/index.ts';

/**
 * One version of a plugin. `sourceHash` (SHA-256, hex) is its identity: a process loads the same
 * source only once.
 */
export type SandboxModule = { key: string; version: string; source: string; sourceHash: string };

/**
 * What a module exports, read from the evaluated module, not from its text. Members to a depth of
 * three.
 */
export type ExportShape = {
  type: 'function' | 'async_function' | 'generator' | 'class' | 'object' | 'array' | 'other';
  members?: Record<string, ExportShape>;
};
export type ModuleInfo = { exports: Record<string, ExportShape>; meta: Json | undefined; vendorInfo?: Json };

export type SandboxFailure = Sentence & {
  kind:
    | 'compile' // the source does not parse or its top level throws
    | 'thrown' // the hook threw; `message` is the plugin's own, sanitised, at most 512 code points
    | 'not_callable' // no such export or member, or it is not a function
    | 'async' // a promise, generator or pending job instead of a plain value
    | 'codec' // the arguments or the result are not JSON (a cycle, a BigInt)
    | 'timeout' // the deadline passed
    | 'memory'
    | 'stack'
    | 'too_large' // arguments or result over their limit
    | 'killed' // the process had to be killed or died
    | 'suspended' // killed too often for several owners; refused to everybody for a while
    | 'owner_refused' // killed too often for this owner; refused to them for a while
    | 'overloaded' // no slot within the admission time
    | 'closed'; // the gateway is stopping
  /** 1-based position in the source, where it is known. */
  line?: number;
  column?: number;
  /** For `suspended` and `owner_refused`: ms until the call may be made again. */
  retryAfterMs?: number;
  console: string[];
};

export type HookCall = {
  /**
   * On whose behalf the call is made: `userOwner` and the like of `kernel`. Slots are shared
   * between owners, and kills are counted by owner.
   */
  owner: string;
  /**
   * The call belongs to work that was admitted before and has effects elsewhere (a vendor has
   * accepted the job). It runs even while the plugin is suspended or refused to its owner.
   */
  alreadyAdmitted?: boolean;
  /**
   * The export and its members: `['parseTaskResult']`, `['protocols', 'proto_video', 'render']`.
   * Own properties only.
   */
  path: readonly string[];
  /** Copied as JSON; `undefined` arguments at the end are dropped. */
  args: readonly unknown[];
  maxArgsBytes: number;
  maxResultBytes: number;
  /**
   * Longest wait for a slot, in ms; without it a call waits until `signal` is aborted. A call that
   * was sent in a batch holds a slot.
   */
  admissionTimeoutMs?: number;
  signal?: AbortSignal;
  /** Freezes `utils.unixNow`, `Date` and the random seed (fixtures). */
  unixNow?: number;
  /**
   * The hook need not run where an equal call had a result that depends on its arguments alone:
   * that result is given again. For hooks that are called many times with the same arguments.
   */
  reuse?: boolean;
};

export type HookOutcome = {
  /** The result as JSON; `undefined` where the hook returned nothing. */
  value: Json | undefined;
  console: string[];
  ms: number;
  /**
   * The result depends on source, path and arguments alone: the plugin read no clock, no random
   * numbers and nothing else that may differ next time, and wrote nothing to the console.
   */
  repeatable: boolean;
};

export type SandboxStats = {
  processes: number;
  calls: number;
  kills: number;
  queued: number;
  suspended: string[];
  residentBytes: number;
  /**
   * Why the system calls of processes are not filtered; null where they are, undefined before the
   * first process is ready.
   */
  unfiltered: string | null | undefined;
  killCounts: KillCount[];
};

/** Kills of one plugin since the start, by the kind of owner that made the calls. */
export type KillCount = { plugin: string; owner: 'system' | 'user'; kills: number };

/** Runs plugin code in child processes. Knows no task, user or URL. */
export interface Sandbox {
  /** Loads a module in a process, and gives what it exports. Kills are not counted. */
  inspect(module: SandboxModule, owner: string): Promise<Result<ModuleInfo, SandboxFailure>>;
  call(module: SandboxModule, call: HookCall): Promise<Result<HookOutcome, SandboxFailure>>;
  /** Forgets a module and its results in every process, when its generation has ended. */
  forget(sourceHash: string): void;
  /** Whether the plugin is refused to everybody because it was killed too often. */
  isSuspended(key: string): boolean;
  stats(): SandboxStats;
  /** Registers the sizes of the memories of calls and kills as metrics. */
  watchCaches(reportCacheSize: ReportCacheSize): void;
  /** Resolves when a process is ready, or when none is needed until the next call. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Every limit is required; `app/config` has the defaults. */
export type SandboxLimits = {
  /** Most child processes. The first starts with the gateway, further ones under load. */
  processes: number;
  /** The last process ends after this long without a call; the next call waits for a new one. */
  idleMs: number;
  /** Wall clock limit of one hook call, loading included, from admission on. */
  callTimeoutMs: number;
  /** From the interrupt at the deadline to SIGKILL. */
  killGraceMs: number;
  memoryBytes: number;
  sourceBytes: number;
  consoleBytes: number;
  callsPerPlugin: number;
  /**
   * Kills (calls stopped for their time or memory) within `killWindowMs` after which a plugin is
   * refused to their owner, or suspended for everybody, for `suspendMs`.
   */
  killsToSuspend: number;
  killWindowMs: number;
  suspendMs: number;
};
