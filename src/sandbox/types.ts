import type { Json, Result, WatchCache } from '../kernel/index.ts';

/**
 * One version of a plugin. `sourceHash` (SHA-256, hex) is its identity: the same source is loaded
 * once a process.
 */
export type SandboxModule = { key: string; version: string; source: string; sourceHash: string };

/**
 * What a module exports, found by looking at the evaluated module, not at its text. Members to a
 * depth of three.
 */
export type ExportShape = {
  type: 'function' | 'async_function' | 'generator' | 'class' | 'object' | 'array' | 'other';
  members?: Record<string, ExportShape>;
};
export type ModuleInfo = { exports: Record<string, ExportShape>; meta: Json | undefined };

export type SandboxFailure = {
  kind:
    | 'compile' // the source does not parse or its top level throws
    | 'thrown' // the hook threw; `message` is the plugin's own, sanitised, at most 512 code points
    | 'not_callable' // no such export or member, or no function
    | 'async' // a promise, generator or pending job where a plain value is due
    | 'codec' // the result is no JSON (a cycle, a BigInt)
    | 'timeout' // the deadline passed
    | 'memory'
    | 'stack'
    | 'too_large' // arguments or result over their limit
    | 'killed' // the process had to be killed or died
    | 'suspended' // killed too often for several owners; refused to everybody for a while
    | 'owner_refused' // killed too often for this owner; refused to them for a while
    | 'overloaded' // no slot within the admission time
    | 'closed'; // the gateway is stopping
  message: string;
  /** 1-based position in the source, where it is known. */
  line?: number;
  column?: number;
  /** Until the call may be made again, where that is known: `suspended`, `owner_refused`. */
  retryAfterMs?: number;
  console: string[];
};

export type HookCall = {
  /**
   * On whose behalf: `userOwner` and the like of `kernel`. The pool is shared by owner, and kills
   * are counted against one.
   */
  owner: string;
  /**
   * Part of work that was let in and has left traces elsewhere (a vendor has taken the job): made
   * although the plugin is suspended or refused to its owner by now.
   */
  alreadyAdmitted?: boolean;
  /**
   * The export and its members: `['parseTaskResult']`, `['protocols', 'proto_video', 'render']`.
   * Own properties only.
   */
  path: readonly string[];
  /** Copied as JSON; `undefined` at the end is left out. */
  args: readonly unknown[];
  maxArgsBytes: number;
  maxResultBytes: number;
  /**
   * Longest wait for a slot, in ms; without it a call waits until `signal` is aborted. One that was
   * sent with others has its slot.
   */
  admissionTimeoutMs?: number;
  signal?: AbortSignal;
  /** Freezes `utils.unixNow`, `Date` and the random seed (fixtures). */
  unixNow?: number;
};

export type HookOutcome = {
  /** The result as JSON; `undefined` where the hook returned nothing. */
  value: Json | undefined;
  console: string[];
  ms: number;
};

export type SandboxStats = {
  processes: number;
  calls: number;
  kills: number;
  queued: number;
  suspended: string[];
  residentBytes: number;
  killCounts: KillCount[];
};

/** Kills of one plugin since the start, by the kind of owner whose calls they were. */
export type KillCount = { plugin: string; owner: 'system' | 'user'; kills: number };

/** Runs plugin code in child processes. Knows no task, user or URL. */
export interface Sandbox {
  /**
   * Loads a module in a process and tells what it exports. A kill on the way is counted against
   * nobody.
   */
  inspect(module: SandboxModule, owner: string): Promise<Result<ModuleInfo, SandboxFailure>>;
  call(module: SandboxModule, call: HookCall): Promise<Result<HookOutcome, SandboxFailure>>;
  /** Forgets a module in every process (its generation has ended). */
  forget(sourceHash: string): void;
  /** True while the plugin is refused to everybody because it was killed too often. */
  isSuspended(key: string): boolean;
  stats(): SandboxStats;
  /** Tells of what is remembered of calls and kills. */
  watchCaches(watchCache: WatchCache): void;
  /** Resolves when a process answers. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Every limit is required: `app/config.ts` has the defaults. */
export type SandboxLimits = {
  /** Child processes at most; the first starts with the gateway, further ones under load. */
  processes: number;
  /** Wall clock of one hook call from admission, and of loading a module. */
  callTimeoutMs: number;
  /** From the deadline's interrupt to SIGKILL. */
  killGraceMs: number;
  memoryBytes: number;
  sourceBytes: number;
  consoleBytes: number;
  callsPerPlugin: number;
  /**
   * Kills within `killWindowMs` that refuse a plugin to their owner, or suspend it for everybody,
   * for `suspendMs`.
   */
  killsToSuspend: number;
  killWindowMs: number;
  suspendMs: number;
};
