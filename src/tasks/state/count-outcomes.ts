import { AppError, type Clock } from '../../kernel/index.ts';
import type { LoadedPlugin, PluginOutcome } from '../../plugins/index.ts';
import type { OutcomeCounter, PolledOutcome } from '../types.ts';

/** A vendor's link to a result of the last hour has hardly expired: a 404 is a wrong address. */
const FRESH_SECONDS = 3600;

/** Errors of a submission that its plugin has caused: what it builds, and what it reads. */
const SUBMIT_FAILURES: ReadonlySet<string> = new Set([
  'tasks.vendor_rejected',
  'tasks.plugin_submit_response_failed',
  'tasks.plugin_submit_response_invalid',
]);
const ARTIFACT_FAILURES: ReadonlySet<string> = new Set([
  'tasks.artifact_plugin_error',
  'tasks.artifact_request_rejected',
  'tasks.plugin_request_invalid',
]);

/** Counts what came of a plugin's tasks, by which a failing version is found and rolled back. */
export function createOutcomeCounter(clock: Clock, onOutcome: (outcome: PluginOutcome) => void): OutcomeCounter {
  /** Sources that have accepted a submission here; there are as many as served here. */
  const working = new Set<string>();

  /**
   * A plugin's own refusal says mostly that the client sent something wrong. A version that has
   * taken nothing at all refuses everything.
   */
  const isRefusal = (code: string, { sourceHash }: LoadedPlugin): boolean =>
    code === 'tasks.plugin_request_invalid' && working.has(sourceHash);

  return {
    submitted(plugin, error) {
      const { sourceHash } = plugin;
      if (error === undefined) {
        working.add(sourceHash);
        onOutcome({ sourceHash, stage: 'submit', failed: false });
      } else if (error instanceof AppError && !isRefusal(error.code, plugin)) {
        const failed = SUBMIT_FAILURES.has(error.code) || error.code === 'tasks.plugin_request_invalid';
        if (failed) onOutcome({ sourceHash, stage: 'submit', failed });
      }
    },
    polled({ sourceHash }, verdict) {
      const failed = pollFailed(verdict);
      if (failed !== undefined) onOutcome({ sourceHash, stage: 'poll', failed });
    },
    fetched({ sourceHash }, { finishTime }, error) {
      if (error === undefined) return onOutcome({ sourceHash, stage: 'artifact', failed: false });
      if (!(error instanceof AppError)) return;
      const isFresh = clock.unix() - finishTime < FRESH_SECONDS;
      const failed = ARTIFACT_FAILURES.has(error.code) || (error.code === 'tasks.artifact_gone' && isFresh);
      if (failed) onOutcome({ sourceHash, stage: 'artifact', failed });
    },
  };
}

/** Undefined: it says nothing about the plugin. A job that failed at the vendor was read well. */
function pollFailed(verdict: PolledOutcome): boolean | undefined {
  switch (verdict.kind) {
    case 'running':
      return false;
    case 'ended':
      return verdict.ending.status === 'FAILURE' && verdict.ending.class === 'not_found';
    case 'poll_failed':
      return verdict.class === 'hook_error' || verdict.class === 'unrecognized' ? true : undefined;
    default:
      return undefined;
  }
}
