import {
  err,
  ok,
  quoted,
  type Result,
  type Sentence,
  SYSTEM_OWNER,
  sentence,
  sha256Hex,
  toSentence,
} from '../../kernel/index.ts';
import type { ExportShape, Sandbox, SandboxFailure } from '../../sandbox/index.ts';
import { makeFault } from '../manifest/faults.ts';
import type { RuleId } from '../manifest/rules.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { createPluginWorker, type PluginWorker } from './create-worker.ts';

/** A source that has passed all checks. */
export type CompiledPlugin = {
  source: string;
  sourceHash: string;
  manifest: Manifest;
  exports: Record<string, ExportShape>;
};

/** `unavailable`: the sandbox could not check it; the plugin may be valid. */
export type CompileFailure = { kind: 'faults'; faults: PluginFault[] } | (Sentence & { kind: 'unavailable' });

export interface Compiler {
  /**
   * Checks a source; results are cached by source. `name` identifies the plugin until its manifest
   * is known. `owner`: on whose behalf its code runs, `system` by default.
   */
  compile(
    source: string,
    name?: { key: string; version: string },
    owner?: string,
  ): Promise<Result<CompiledPlugin, CompileFailure>>;
  /** Forgets all other sources, here and in the sandbox. */
  retain(sourceHashes: ReadonlySet<string>): void;
}

const HOST_FAILURES: ReadonlySet<SandboxFailure['kind']> = new Set([
  'overloaded',
  'closed',
  'suspended',
  'owner_refused',
]);

/** Failures that may not be the source's fault. They are not cached. */
const UNCERTAIN: ReadonlySet<SandboxFailure['kind']> = new Set(['killed', 'timeout', 'memory']);

export function createCompiler(sandbox: Sandbox, worker: PluginWorker = createPluginWorker()): Compiler {
  const known = new Map<string, Promise<Result<CompiledPlugin, CompileFailure>>>();

  type Source = {
    source: string;
    sourceHash: string;
    name: { key: string; version: string } | undefined;
    owner: string;
  };

  async function check({ source, sourceHash, name, owner }: Source): Promise<Result<CompiledPlugin, CompileFailure>> {
    const faults = await worker.run('checkSource', source);
    if (faults.length > 0) return err({ kind: 'faults', faults });
    const { key, version } = name ?? { key: `upload:${sourceHash.slice(0, 12)}`, version: '' };
    const inspecting = sandbox.inspect({ key, version, source, sourceHash }, owner);
    // Compiles the schema while the sandbox evaluates the first module.
    void worker.run('prepare').catch(() => undefined);
    const inspected = await inspecting;
    if (!inspected.ok) {
      const { kind, line, column } = inspected.error;
      if (HOST_FAILURES.has(kind)) return err({ kind: 'unavailable', ...toSentence(inspected.error) });
      if (UNCERTAIN.has(kind)) known.delete(sourceHash);
      const position = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
      // Loading a module calls no hook. Every other kind of failure has a rule.
      const fault = makeFault('source', `source.${kind}` as RuleId, toSentence(inspected.error));
      return err({ kind: 'faults', faults: [{ ...fault, ...position }] });
    }
    const { exports, meta, vendorInfo } = inspected.value;
    const manifest = await worker.run('checkManifest', { source, meta, vendorInfo, exports });
    if (!manifest.ok) return err({ kind: 'faults', faults: manifest.error });
    return ok({ source, sourceHash, manifest: manifest.value, exports });
  }

  const compile: Compiler['compile'] = (source, name, owner = SYSTEM_OWNER) => {
    const sourceHash = sha256Hex(source);
    const cached = known.get(sourceHash);
    if (cached) return cached;
    const checked = check({ source, sourceHash, name, owner }).catch((error: unknown) =>
      err<CompileFailure>({ kind: 'unavailable', ...quoted(error instanceof Error ? error.message : String(error)) }),
    );
    const result = checked.then((outcome) => {
      if (!outcome.ok && outcome.error.kind === 'unavailable') known.delete(sourceHash);
      return outcome;
    });
    known.set(sourceHash, result);
    return result;
  };

  return {
    compile,
    retain(sourceHashes) {
      for (const hash of known.keys()) {
        if (sourceHashes.has(hash)) continue;
        known.delete(hash);
        sandbox.forget(hash);
      }
    },
  };
}

/** All faults in one line, for logs and status; its values name the first one. */
export function describeFailure(failure: CompileFailure): Sentence {
  if (failure.kind === 'unavailable') return toSentence(failure);
  const lines = failure.faults.map(
    ({ path, message, line }) => `${path || 'meta'}${line === undefined ? '' : ` line ${line}`}: ${message}`,
  );
  return { ...summarizeFaults(failure.faults), message: lines.join('; ') };
}

/** The first of the faults, and how many there are besides. */
export function summarizeFaults(faults: readonly PluginFault[]): Sentence {
  const [first, ...others] = faults;
  if (first === undefined) return sentence('plugins.internal');
  const { message, reason, params } = first;
  const fault = reason === undefined ? quoted(message) : { message, reason, params: params ?? {} };
  const { path, line } = first;
  const place = `${path || 'meta'}${line === undefined ? '' : `:${line}`}`;
  return others.length === 0
    ? sentence('plugins.fault', { place, fault })
    : sentence('plugins.faults', { place, fault, count: others.length });
}
