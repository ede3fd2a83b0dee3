import { err, ok, type Result, SYSTEM_OWNER, sha256Hex } from '../../kernel/index.ts';
import type { ExportShape, Sandbox, SandboxFailure } from '../../sandbox/index.ts';
import { makeFault } from '../manifest/faults.ts';
import type { RuleId } from '../manifest/rules.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { createPluginWorker, type PluginWorker } from '../worker/create-worker.ts';

/** A source that has passed every check. */
export type CompiledPlugin = {
  source: string;
  sourceHash: string;
  manifest: Manifest;
  exports: Record<string, ExportShape>;
};

/** `unavailable`: the sandbox could not say; the plugin may be sound. */
export type CompileFailure = { kind: 'faults'; faults: PluginFault[] } | { kind: 'unavailable'; message: string };

export interface Compiler {
  /**
   * Checks a source; the same source is looked at once. `name` stands for the plugin until its
   * manifest is known; `owner`: whose upload it is, nobody's unless given.
   */
  compile(
    source: string,
    name?: { key: string; version: string },
    owner?: string,
  ): Promise<Result<CompiledPlugin, CompileFailure>>;
  /** Forgets what it knows of all other sources, here and in the sandbox. */
  retain(sourceHashes: ReadonlySet<string>): void;
}

const HOST_TROUBLE: ReadonlySet<SandboxFailure['kind']> = new Set([
  'overloaded',
  'closed',
  'suspended',
  'owner_refused',
]);

/**
 * Ends that may have been an accident of the process: not remembered as a verdict on the source.
 */
const UNCERTAIN: ReadonlySet<SandboxFailure['kind']> = new Set(['killed', 'timeout', 'memory']);

export function createCompiler(sandbox: Sandbox, worker: PluginWorker = createPluginWorker()): Compiler {
  const known = new Map<string, Promise<Result<CompiledPlugin, CompileFailure>>>();

  async function examine(
    source: string,
    sourceHash: string,
    name: { key: string; version: string } | undefined,
    owner: string,
  ): Promise<Result<CompiledPlugin, CompileFailure>> {
    const faults = await worker.run('checkSource', source);
    if (faults.length > 0) return err({ kind: 'faults', faults });
    const { key, version } = name ?? { key: `upload:${sourceHash.slice(0, 12)}`, version: '' };
    const inspecting = sandbox.inspect({ key, version, source, sourceHash }, owner);
    // The schema is compiled while the sandbox evaluates the first module, not after it.
    void worker.run('prepare').catch(() => undefined);
    const inspected = await inspecting;
    if (!inspected.ok) {
      const { kind, message, line, column } = inspected.error;
      if (HOST_TROUBLE.has(kind)) return err({ kind: 'unavailable', message });
      if (UNCERTAIN.has(kind)) known.delete(sourceHash);
      const position = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
      // Loading calls no hook: what else can go wrong has a rule each.
      const fault = makeFault('source', `source.${kind}` as RuleId, message);
      return err({ kind: 'faults', faults: [{ ...fault, ...position }] });
    }
    const { exports, meta } = inspected.value;
    const manifest = await worker.run('checkManifest', { source, meta, exports });
    if (!manifest.ok) return err({ kind: 'faults', faults: manifest.error });
    return ok({ source, sourceHash, manifest: manifest.value, exports });
  }

  const compile: Compiler['compile'] = (source, name, owner = SYSTEM_OWNER) => {
    const sourceHash = sha256Hex(source);
    const earlier = known.get(sourceHash);
    if (earlier) return earlier;
    const examined = examine(source, sourceHash, name, owner).catch((error: unknown) =>
      err<CompileFailure>({ kind: 'unavailable', message: error instanceof Error ? error.message : String(error) }),
    );
    const result = examined.then((verdict) => {
      if (!verdict.ok && verdict.error.kind === 'unavailable') known.delete(sourceHash);
      return verdict;
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

/** The faults as one line each, for logs and status. */
export const describeFailure = (failure: CompileFailure): string =>
  failure.kind === 'unavailable'
    ? failure.message
    : failure.faults
        .map(({ path, message, line }) => `${path || 'meta'}${line === undefined ? '' : ` line ${line}`}: ${message}`)
        .join('; ');
