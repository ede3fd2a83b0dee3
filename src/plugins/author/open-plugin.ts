import { err, type Json, ok, type Result, SYSTEM_OWNER } from '../../kernel/index.ts';
import { type ExportShape, type HookOutcome, MAX_RESULT_BYTES, type Sandbox } from '../../sandbox/index.ts';
import { checkHookResult } from '../hooks/check-hook-result.ts';
import { MAX_ARGS_BYTES, modulePath } from '../registry/load-plugin.ts';
import { findHiddenNames } from '../source/find-hidden-names.ts';
import type { HookFailure, Manifest, PluginFault } from '../types.ts';
import { type Compiler, createCompiler } from '../worker/compile-plugin.ts';

/*
 * Opens a plugin outside a gateway, for its author's tools and for marketplaces: its functions run
 * in a sandbox.
 */

export type TrialFailure = Omit<HookFailure, 'hook'>;

/** A source that has passed all checks, and whose functions can be called outside a gateway. */
export type OpenPlugin = {
  manifest: Manifest;
  exports: Record<string, ExportShape>;
  /**
   * `path` leads from the export to the function. `unixNow` freezes clock and random seed. A result
   * that the gateway would refuse is a failure `invalid_result` with the same message.
   */
  call(path: readonly string[], args: readonly Json[], unixNow?: number): Promise<Result<HookOutcome, TrialFailure>>;
};

/**
 * Compiles a source, or gives its faults. A failure of the sandbox is a fault of rule `sandbox`. To
 * open several plugins, pass one `compiler` of this sandbox: it compiles the schema only once.
 */
export async function openPlugin(
  source: string,
  sandbox: Sandbox,
  compiler: Compiler = createCompiler(sandbox),
): Promise<Result<OpenPlugin, PluginFault[]>> {
  const compiled = await compiler.compile(source);
  if (!compiled.ok) {
    const { error } = compiled;
    return err(error.kind === 'faults' ? error.faults : [{ path: 'source', rule: 'sandbox', message: error.message }]);
  }
  const hidden = findHiddenNames(compiled.value);
  if (hidden.length > 0) return err(hidden);
  const { manifest, sourceHash, exports } = compiled.value;
  const module = { key: manifest.key, version: manifest.version, source, sourceHash };
  return ok({
    manifest,
    exports,
    async call(path, args, unixNow) {
      const outcome = await sandbox.call(module, {
        path: modulePath(path, exports),
        args,
        owner: SYSTEM_OWNER,
        maxArgsBytes: MAX_ARGS_BYTES,
        maxResultBytes: MAX_RESULT_BYTES,
        ...(unixNow === undefined ? {} : { unixNow }),
      });
      if (!outcome.ok) return outcome;
      const { value, console } = outcome.value;
      const checked = checkHookResult({ manifest, path, args }, value);
      return checked.ok ? outcome : err({ kind: 'invalid_result', ...checked.error, console });
    },
  });
}
