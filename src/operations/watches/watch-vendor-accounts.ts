/**
 * Reads each hour what vendors report about their accounts, where a channel's script or plugin says
 * how: what is left, which is shown and warned of and stops nothing, and what they may run. Only
 * one of several nodes reads: the one that claims the time.
 */
import type { Channels, VendorAccount } from '../../channels/index.ts';
import {
  BALANCE_OWNER,
  type Clock,
  createSemaphore,
  type Logger,
  listKeySecrets,
  sha256Hex,
  sleepInStep,
} from '../../kernel/index.ts';
import { findDriver, type Generation, type Pin } from '../../plugins/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { STATUS, type Store } from '../../store/ports/index.ts';
import { type RunAccountHook, readBalance, readReportedLimits, type VendorDeps } from '../../vendors/index.ts';

const LOOK_EVERY_MS = 60_000;
/** How old the last answer is when the vendor is asked again. */
const OLD_SECONDS = 3600;
/** This many keys are asked about at once, so one silent vendor holds up few others. */
const AT_ONCE = 8;
const MAX_ARGS_BYTES = 512 * 1024;
const MAX_RESULT_BYTES = 64 * 1024;

export type VendorAccountWatch = {
  /**
   * Asks the vendor about each enabled key of a channel now, until `signal` ends it. Returns about
   * how many.
   */
  read(channelId: number, signal: AbortSignal): Promise<number>;
  start(): void;
  stop(): Promise<void>;
};

type Deps = {
  store: Pick<Store, 'credentials' | 'publish'>;
  clock: Clock;
  logger: Logger;
  channels: Channels;
  send: VendorDeps['send'];
  sandbox: Pick<Sandbox, 'call' | 'forget'>;
  pin: () => Pin;
};

/** The hooks that say how to ask, if any. `reportsLimits`: the plugin can report limits at all. */
type Hooks = { balance: RunAccountHook | undefined; limits: RunAccountHook | undefined; reportsLimits: boolean };

export function createVendorAccountWatch({
  store,
  clock,
  logger,
  channels,
  send,
  sandbox,
  pin,
}: Deps): VendorAccountWatch {
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();

  /**
   * Each read has a module of its own, so that nothing of a key stays in a process. Kills of one
   * channel's script refuse no other's.
   */
  const runScript =
    (source: string, { id }: VendorAccount['channel']): RunAccountHook =>
    async (hook, args) => {
      const sourceHash = sha256Hex(`${crypto.randomUUID()}\0${source}`);
      const module = { key: `balance_script:${id}`, version: '', source, sourceHash };
      const limits = { maxArgsBytes: MAX_ARGS_BYTES, maxResultBytes: MAX_RESULT_BYTES };
      const outcome = await sandbox.call(module, { owner: BALANCE_OWNER, path: [hook], args, ...limits });
      sandbox.forget(sourceHash);
      return outcome.ok ? { ok: true, value: outcome.value.value } : outcome;
    };

  /** A channel's script goes before its plugin, which alone reports limits. */
  function findHooks(account: VendorAccount, generation: Generation): Hooks {
    const { channel } = account;
    const { balance_script: script } = channel.settings;
    const plugin = findDriver(generation, channel);
    const secrets = () => listKeySecrets(channels.key(account));
    const findHook = (name: string): RunAccountHook | undefined =>
      plugin?.has(name) && !plugin.suspended()
        ? (hook, args) => plugin.call(hook, args, { owner: BALANCE_OWNER, large: false, secrets })
        : undefined;
    const hasScript = typeof script === 'string' && script.trim() !== '';
    return {
      balance: hasScript ? runScript(script, channel) : findHook('buildBalanceRequest'),
      limits: findHook('queryCapacity'),
      reportsLimits: plugin?.has('queryCapacity') === true,
    };
  }

  async function readOne(
    account: VendorAccount,
    { hooks, isDue, signal }: { hooks: Hooks; isDue: (readAt: number) => boolean; signal: AbortSignal },
  ): Promise<boolean> {
    const { id } = account.credential;
    const stored = signal.aborted ? undefined : await store.credentials.byId(id);
    if (!stored || stored.removedAt > 0 || !isDue(stored.balanceAt) || !channels.isReadable(account)) return false;
    const at = clock.unix();
    if (!(await store.credentials.claimBalance(id, { seen: stored.balanceAt, at }))) return false;
    const common = { channels, clock, send };
    const asking = { signal: stopping.signal };
    if (hooks.balance) {
      const read = await readBalance(common, account, { runHook: hooks.balance, ...asking });
      // A query that was stopped says nothing about the vendor.
      if (!read.ok && stopping.signal.aborted) return false;
      await store.credentials.recordBalance(id, at, read.ok ? { usd: read.value } : { failed: read.error });
    }
    if (hooks.limits) {
      const read = await readReportedLimits(common, account, { runHook: hooks.limits, ...asking });
      if (!read.ok && stopping.signal.aborted) return false;
      await store.credentials.recordReportedLimits(id, at, read.ok ? { limits: read.value } : { failed: read.error });
    } else if (!hooks.reportsLimits && (stored.reportedLimits !== null || stored.reportedLimitsFault !== null)) {
      // Another plugin serves the channel now.
      await store.credentials.recordReportedLimits(id, at, { limits: null });
    }
    return true;
  }

  async function readAll(
    accounts: readonly VendorAccount[],
    { isDue, signal }: { isDue: (readAt: number) => boolean; signal: AbortSignal },
  ): Promise<number> {
    const { generation, release } = pin();
    const places = createSemaphore({ slots: AT_ONCE });
    const reads = accounts.map((account) =>
      places.run(async () => {
        const hooks = findHooks(account, generation);
        const { status, reportedLimits, reportedLimitsFault } = account.credential;
        const wasReported = reportedLimits !== null || reportedLimitsFault !== null;
        if (status !== STATUS.enabled || !(hooks.balance || hooks.limits || wasReported)) return false;
        return readOne(account, { hooks, isDue, signal });
      }),
    );
    const settled = await Promise.allSettled(reads);
    release();
    const count = settled.filter((one) => one.status === 'fulfilled' && one.value).length;
    // All nodes show and measure it.
    if (count > 0) await store.publish('channels');
    const failed = settled.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return count;
  }

  return {
    read: (id, signal) =>
      readAll(channels.accounts({ id }), {
        isDue: () => true,
        signal: AbortSignal.any([stopping.signal, signal]),
      }),
    start() {
      watching = (async () => {
        while (!stopping.signal.aborted) {
          const accounts = channels
            .known()
            .flatMap((channel) => (channel.status === STATUS.enabled ? channels.accounts(channel) : []));
          // A time from the future was noted before the clock was set back.
          const isDue = (at: number) => at <= clock.unix() - OLD_SECONDS || at > clock.unix();
          await readAll(accounts, { isDue, signal: stopping.signal }).catch((error: unknown) =>
            logger.warn({ err: error }, 'vendors could not be asked about accounts'),
          );
          await sleepInStep(clock, LOOK_EVERY_MS, stopping.signal);
        }
      })();
    },
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}
