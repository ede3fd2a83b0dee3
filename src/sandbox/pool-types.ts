import type { HookRequest, Reply } from './frames.ts';
import type { ChildProcess } from './spawn-child.ts';
import type { SandboxFailure, SandboxModule } from './types.ts';

export type PoolFailure = Pick<SandboxFailure, 'kind' | 'message' | 'retryAfterMs'>;

/** A call or an inspection on its way through the pool. */
export type Job = {
  owner: string;
  /** The plugin's key. */
  lane: string;
  module: SandboxModule;
  /** Without `path`: an inspection. */
  request: Pick<HookRequest, 'path' | 'maxResultBytes' | 'unixNow'>;
  args: string;
  alreadyAdmitted: boolean;
  attempts: number;
  /**
   * Of calls that were sent together one ended the process: each is sent by itself, to see which.
   */
  alone?: true;
  queuedAt: number;
  onStart(): void;
  /** It was sent, and waits again. */
  onWait(): void;
  onReply(reply: Reply, body: string): void;
  onFailure(failure: PoolFailure): void;
};

/** A message to a process. `expectedMs`: what its calls take together, as far as is known. */
export type Message = { id: number; owner: string; lane: string; jobs: Job[]; expectedMs: number };

export type Worker = {
  child: ChildProcess;
  state: 'booting' | 'ready' | 'ending';
  /** Sent and unanswered, in the order in which the child runs them; all of one plugin. */
  running: Message[];
  /** Modules whose source the child has. */
  known: Set<string>;
  /** When the first of `running` began, or the last one ended. */
  since: number;
  killedFor: PoolFailure | undefined;
};
