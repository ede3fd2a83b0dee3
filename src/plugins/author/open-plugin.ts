import { err, type Json, ok, type Result, SYSTEM_OWNER } from '../../kernel/index.ts';
import type { ExportShape, HookOutcome, Sandbox, SandboxFailure } from '../../sandbox/index.ts';
import { modulePath } from '../registry/load-plugin.ts';
import { type Compiler, createCompiler } from '../source/compile-plugin.ts';
import { findHiddenNames } from '../source/find-hidden-names.ts';
import type { Manifest, PluginFault } from '../types.ts';

/** Arguments and result of a call, in bytes: as for a hook that carries bodies. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A source that has passed every check, with its functions callable one by one, outside a gateway. */
export type OpenPlugin = {
  manifest: Manifest;
  exports: Record<string, ExportShape>;
  /** `path` leads from the export to the function; `unixNow` freezes clock and random seed. */
  call(path: readonly string[], args: readonly Json[], unixNow?: number): Promise<Result<HookOutcome, SandboxFailure>>;
};

/**
 * Compiles a source, or gives its faults. Trouble with the sandbox is a fault of rule `sandbox`. Who opens several gives them one `compiler` of
 * this sandbox: the rules are made ready once then.
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
    call: (path, args, unixNow) =>
      sandbox.call(module, {
        path: modulePath(path, exports),
        args,
        owner: SYSTEM_OWNER,
        maxArgsBytes: MAX_BYTES,
        maxResultBytes: MAX_BYTES,
        ...(unixNow === undefined ? {} : { unixNow }),
      }),
  });
}
