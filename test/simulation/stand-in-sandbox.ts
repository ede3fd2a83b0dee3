import { err, type Json, ok, quoted } from '../../src/kernel/index.ts';
import type { ExportShape, ModuleInfo, Sandbox, SandboxFailure } from '../../src/sandbox/index.ts';
import type { Faults } from './faults.ts';
import { never, type ProcessLife } from './process-life.ts';

/** Evaluated modules by the SHA-256 of their source. */
export type Modules = ReadonlyMap<string, Record<string, unknown>>;

const fail = (kind: SandboxFailure['kind'], message: string) =>
  err<SandboxFailure>({ kind, ...quoted(message), console: [] });
const copy = (value: unknown): Json | undefined =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

/** Runs plugin code in this process, with JSON in and out, as the sandbox's processes do. */
export function createStandInSandbox(modules: Modules, place?: { life: ProcessLife; faults: Faults }): Sandbox {
  return {
    async inspect({ sourceHash }) {
      const module = modules.get(sourceHash);
      if (!module) return fail('compile', 'The simulation has no such module.');
      return ok(describeModule(module));
    },
    async call({ sourceHash }, { path, args, alreadyAdmitted }) {
      if (place) {
        await place.life.pass(`before ${path.join('.')}`);
        // What a vendor has accepted waits for its process; other calls may find none.
        if (!alreadyAdmitted && place.faults.draw('sandbox')) return fail('overloaded', 'No process was free in time.');
      }
      let hook: unknown = modules.get(sourceHash);
      for (const name of path) hook = (hook as Record<string, unknown> | undefined)?.[name];
      if (typeof hook !== 'function') return fail('not_callable', `${path.join('.')} is not a function.`);
      try {
        const value = copy(hook(...args.map(copy)));
        return ok({ value, console: [], ms: 0, repeatable: true });
      } catch (error) {
        return fail('thrown', error instanceof Error ? error.message : String(error));
      }
    },
    forget() {},
    isSuspended: () => false,
    stats: () => ({
      ...{ processes: 1, calls: 0, kills: 0, queued: 0, suspended: [], residentBytes: 0, unfiltered: null },
      killCounts: [],
    }),
    watchCaches() {},
    ready: () => (place?.life.isAlive() === false ? never() : Promise.resolve()),
    async close() {},
  };
}

function describeModule(module: Record<string, unknown>): ModuleInfo {
  const exports: Record<string, ExportShape> = {};
  for (const [name, value] of Object.entries(module)) exports[name] = readShape(value, 2);
  const { meta, vendorInfo } = module;
  const vendor = copy(vendorInfo);
  return { exports, meta: copy(meta), ...(vendor === undefined ? {} : { vendorInfo: vendor }) };
}

function readShape(value: unknown, depth: number): ExportShape {
  if (typeof value === 'function') return { type: 'function' };
  if (Array.isArray(value)) return { type: 'array' };
  if (typeof value !== 'object' || value === null) return { type: 'other' };
  if (depth === 0) return { type: 'object' };
  const members = Object.entries(value).map(([name, member]) => [name, readShape(member, depth - 1)] as const);
  return { type: 'object', members: Object.fromEntries(members) };
}
