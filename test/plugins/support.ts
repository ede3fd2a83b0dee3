import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Meta } from '../../contracts/v1.d.ts';
import { AppError, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createPluginService, type FactoryPlugin, type HookCall, type PluginService } from '../../src/plugins/index.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { createPluginWorker } from '../../src/plugins/worker/create-worker.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts';
import type { SandboxLimits } from '../../src/sandbox/types.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';

export { until } from '../support/until.ts';

import { FAR_MS } from '../support/far-limits.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MEBIBYTE = 1024 * 1024;

export const demoSource = readFileSync(join(import.meta.dir, '../../src/plugins/factory/demo.js'), 'utf8');

export const startSandbox = (limits: Partial<SandboxLimits> = {}): Sandbox =>
  createSandbox({
    limits: {
      processes: 2,
      idleMs: 600_000,
      callTimeoutMs: FAR_MS,
      killGraceMs: 5_000,
      memoryBytes: 128 * MEBIBYTE,
      sourceBytes: MEBIBYTE,
      consoleBytes: 16_384,
      callsPerPlugin: 8,
      killsToSuspend: 1_000,
      killWindowMs: 600_000,
      suspendMs: 300_000,
      ...limits,
    },
    command: [process.execPath, join(import.meta.dir, '../../src/main.ts'), '__sandbox'],
    clock: systemClock,
    logger: silentLogger,
  });

export const baseMeta: Meta = {
  apiVersion: 1,
  key: 'acme',
  name: 'Acme',
  version: '1.0.0',
  author: { name: 'Acme Inc.' },
  models: ['acme-1', 'acme-2'],
  fetchMode: 'per_task',
};

/** A plugin's text: `meta` as JSON, the hooks that every plugin has, and what `more` adds. */
export function pluginSource(meta: object = {}, more = ''): string {
  return `export const meta = ${JSON.stringify({ ...baseMeta, ...meta })};
export function buildSubmitRequest(ctx) { return { url: ctx.baseUrl + '/jobs', body: ctx.requestBody }; }
export function parseSubmitResponse(ctx, response) { return { taskId: response.body.id }; }
export function buildQueryRequest(ctx) { return { url: ctx.baseUrl + '/jobs/' + ctx.taskId }; }
export function parseTaskResult(ctx, body) { return { status: body.status }; }
${more}`;
}

/** The hooks that a claim on proto_video asks for. */
export const VIDEO_HOOKS = `export const protocols = { proto_video: {
  decodeRequest(ctx) { return { kind: 'submit', model: ctx.model }; },
  render(ctx, task) { return { id: task.task_id }; },
} };`;

export type OpenedStore = { store: Store; close(): Promise<void> };

/** An empty, migrated database of its own. */
export async function openTestStore(dialect: 'sqlite' | 'postgres'): Promise<OpenedStore> {
  const dataDir = temporaryFolder();
  const databaseUrl = dialect === 'postgres' ? await migratedDatabaseUrl() : '';
  const store = await openStore({
    databaseUrl,
    dataDir,
    synchronous: 'NORMAL',
    clock: systemClock,
    logger: silentLogger,
  });
  return {
    store,
    async close() {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Shared, since each thread loads and compiles the rules of plugins again. */
export const pluginWorker = createPluginWorker();

const compiled = new Map<string, Promise<FactoryPlugin>>();

/** The sources as the build hands them to the gateway; each is compiled once. */
export function compiledPlugins(sandbox: Sandbox, ...sources: string[]): Promise<FactoryPlugin[]> {
  const compiler = createCompiler(sandbox, pluginWorker);
  const compile = async (source: string): Promise<FactoryPlugin> => {
    const result = await compiler.compile(source);
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    return result.value;
  };
  return Promise.all(
    sources.map((source) => {
      const once = compiled.get(source) ?? compile(source);
      compiled.set(source, once);
      return once;
    }),
  );
}

export function makeService(
  store: Store,
  sandbox: Sandbox,
  {
    factory = [],
    syncFrequencyMs = 60_000,
    ...options
  }: {
    factory?: readonly FactoryPlugin[];
    syncFrequencyMs?: number;
    onHookCall?: (call: HookCall) => void;
    autoRollback?: () => boolean;
    outcomesEveryMs?: number;
  } = {},
): PluginService {
  const common = {
    store,
    sandbox,
    clock: systemClock,
    logger: silentLogger,
    factory,
    syncFrequencyMs,
    worker: pluginWorker,
  };
  return createPluginService({ ...common, ...options });
}

/** The error that a call must end with. */
export async function refusal(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was not refused');
}
