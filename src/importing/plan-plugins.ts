import { sha256Hex } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import type { NewPlugin } from '../store/ports/index.ts';
import type { PlanContext } from './plan-context.ts';
import { findFault, readNumber, readText } from './read-source.ts';

/** A stored version of a plugin; `active`: it served there. */
export type PlannedPlugin = { plugin: NewPlugin; active: boolean };

const MAX_SOURCE = 1024 * 1024;

/**
 * The plugins that were uploaded or installed there, with all their versions. Each is checked when
 * the gateway starts: one that this gateway does not take is listed with its faults, and serves
 * nothing.
 */
export async function planPlugins({ source, store, report, now }: PlanContext): Promise<PlannedPlugin[]> {
  const planned: PlannedPlugin[] = [];
  for (const row of await source.all('task_plugins')) {
    const [key, version] = [readText(row, 'key'), readText(row, 'version')];
    const id = `${key}@${version}`;
    const leave = (code: string, message: string) =>
      report.remark({ kind: 'plugin', id, name: '', effect: 'left', code, message });
    const fault = findPluginFault(row);
    const present = fault === undefined ? await store.plugins.byVersion(key, version) : undefined;
    if (fault !== undefined) leave('unreadable', fault);
    else if (present?.sourceHash === sha256Hex(readText(row, 'source'))) report.skip('plugin');
    else if (present) leave('version_taken', 'the version is stored here with another source');
    else planned.push({ plugin: toPlugin(row, now), active: readNumber(row, 'active') === 1 });
  }
  report.take('plugin', planned.length);
  return planned;
}

function findPluginFault(row: SourceRow): string | undefined {
  const fault = findFault(row, ['key', 'version', 'source', 'source_hash', 'icon', 'remark']);
  if (fault !== undefined) return fault;
  if (!/^[a-z0-9][a-z0-9_-]{0,29}$/.test(readText(row, 'key'))) return 'its key is not one that plugins have';
  const source = readText(row, 'source');
  if (source.length > MAX_SOURCE) return 'its source is larger than 1 MiB';
  // A source that was changed in the table is not the one that somebody reviewed.
  return sha256Hex(source) === readText(row, 'source_hash').toLowerCase()
    ? undefined
    : 'its source does not have the hash that stands beside it';
}

const toPlugin = (row: SourceRow, now: number): NewPlugin => ({
  key: readText(row, 'key'),
  version: readText(row, 'version'),
  apiVersion: readNumber(row, 'api_version') ?? 1,
  source: readText(row, 'source'),
  sourceHash: sha256Hex(readText(row, 'source')),
  // A picture is checked when it is uploaded.
  icon: null,
  enabled: readNumber(row, 'enabled') !== 0,
  remark: readText(row, 'remark').slice(0, 2000),
  narrowedModels: null,
  createdAt: readNumber(row, 'created_at') || now,
});
