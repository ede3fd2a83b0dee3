import { availableParallelism } from 'node:os';
import { integer } from './config-kinds.ts';
import { variable } from './define-variable.ts';

/** The limits of plugins' hooks. The defaults are those of the plugin contract. */
export const SANDBOX_VARIABLES = {
  sandboxProcesses: variable({
    env: 'SANDBOX_PROCESSES',
    group: 'sandbox',
    doc: 'Most processes that run plugin code; the first starts with the gateway, further ones under load.',
    kind: integer(1, 64),
    // At least two, so that one slow plugin cannot occupy them all.
    default: Math.min(4, Math.max(2, availableParallelism())),
    defaultText: 'number of processors, 2 to 4',
  }),
  sandboxIdleSeconds: variable({
    env: 'SANDBOX_IDLE_SECONDS',
    group: 'sandbox',
    doc: 'The last process that runs plugin code ends after this long without a call; the next call starts one and waits for it.',
    kind: integer(1, 86_400),
    default: 600,
  }),
  sandboxTimeoutMs: variable({
    env: 'SANDBOX_TIMEOUT_MILLISECONDS',
    group: 'sandbox',
    doc: 'Longest hook call, and longest time to load a plugin.',
    kind: integer(50, 60_000),
    default: 5000,
  }),
  sandboxKillGraceMs: variable({
    env: 'SANDBOX_KILL_GRACE_MILLISECONDS',
    group: 'sandbox',
    doc: 'Time from the interrupt of a late hook to the kill of its process.',
    kind: integer(10, 10_000),
    default: 250,
  }),
  sandboxMemoryMb: variable({
    env: 'SANDBOX_MEMORY_MB',
    group: 'sandbox',
    doc: 'Memory of one loaded plugin.',
    kind: integer(16, 1024),
    default: 128,
  }),
  sandboxSourceKb: variable({
    env: 'SANDBOX_SOURCE_KB',
    group: 'sandbox',
    doc: 'Largest plugin source, in KiB; the contract allows no more than 1024.',
    kind: integer(16, 1024),
    default: 1024,
  }),
  sandboxConsoleKb: variable({
    env: 'SANDBOX_CONSOLE_KB',
    group: 'sandbox',
    doc: 'Console output kept for one hook call, in KiB.',
    kind: integer(0, 1024),
    default: 16,
  }),
  sandboxCallsPerPlugin: variable({
    env: 'SANDBOX_CALLS_PER_PLUGIN',
    group: 'sandbox',
    doc: 'Concurrent hook calls of one plugin on a node. Quick calls that wait run as one batch and count as one.',
    kind: integer(1, 1000),
    default: 8,
  }),
  sandboxKillsToSuspend: variable({
    env: 'SANDBOX_KILLS_TO_SUSPEND',
    group: 'sandbox',
    doc: 'Kills within SANDBOX_KILL_WINDOW_SECONDS that suspend a plugin: for the user whose calls were killed, or for everybody if they were calls of three or more users, or polls.',
    kind: integer(1, 1000),
    default: 3,
  }),
  sandboxKillWindowSeconds: variable({
    env: 'SANDBOX_KILL_WINDOW_SECONDS',
    group: 'sandbox',
    doc: 'Window in which kills are counted.',
    kind: integer(1, 86_400),
    default: 600,
  }),
  sandboxSuspendSeconds: variable({
    env: 'SANDBOX_SUSPEND_SECONDS',
    group: 'sandbox',
    doc: 'How long a plugin stays suspended.',
    kind: integer(1, 86_400),
    default: 300,
  }),
};
