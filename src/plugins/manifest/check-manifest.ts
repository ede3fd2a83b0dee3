import type { Meta } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, ok, type Result } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { isHttpUrl, isWebsite, normalizeAllowedHost, normalizeBaseUrl } from './addresses.ts';
import { checkRoutes } from './check-routes.ts';
import { checkUsageExamples } from './check-usage.ts';
import type { SchemaCheck } from './compile-schema.ts';
import { explainSchemaFaults } from './explain-schema-faults.ts';
import { FaultList, pointer } from './faults.ts';
import { checkLocaleCollisions } from './localized-text.ts';
import { toManifest, usageFieldsOf } from './normalize-meta.ts';
import { translateProtocols } from './protocol-aliases.ts';

/**
 * Checks `meta` against the schema and against what the schema cannot say, and gives the manifest or every fault at once.
 * A rule that builds on another one is not judged where that one is broken, so each mistake is named once.
 */
export function checkManifest(
  meta: Json | undefined,
  exports: Record<string, ExportShape>,
  checkSchema: SchemaCheck,
): Result<Manifest, PluginFault[]> {
  if (!isObject(meta)) {
    const message = meta === undefined ? 'the module exports no meta' : 'meta must be an object';
    return err([{ path: '', rule: 'manifest.type', message, hint: 'export const meta = { apiVersion: 1, key: … };' }]);
  }
  const translated = translateProtocols(meta as Json, exports);
  const list = new FaultList();
  list.addAll(explainSchemaFaults(checkSchema(translated)));

  // From here on each part is read only where the schema found it sound.
  const sound = translated as Meta & Json;
  checkAddresses(sound, list);
  checkModels(sound, list);
  checkTexts(sound, list);
  if (sound.protocols && Array.isArray(sound.protocols)) checkProtocolNames(sound.protocols, list);
  if (Array.isArray(sound.routes) && list.clean('/routes')) checkRoutes(sound.routes, list);
  if (sound.usageExamples && list.clean('/usageSchema', '/usageExamples')) {
    checkUsageExamples(usageFieldsOf(sound.usageSchema), sound.usageExamples, list);
  }
  if (list.faults.length > 0) return err(list.faults);

  const written = Array.isArray(meta.protocols) ? meta.protocols.map(nameOfEntry) : [];
  return ok(toManifest(sound, written, 'listArtifacts' in exports));
}

const nameOfEntry = (entry: unknown): string => {
  if (typeof entry === 'string') return entry;
  return isObject(entry) && typeof entry.name === 'string' ? entry.name : '';
};

function checkAddresses(meta: Meta, list: FaultList): void {
  const { author, website, baseUrl, allowedHosts } = meta;
  if (list.clean('/author') && author?.url !== undefined && !isHttpUrl(author.url)) {
    list.add('/author/url', 'author.url.format', 'must be an absolute http or https URL');
  }
  if (list.clean('/website') && website && !isWebsite(website)) {
    list.add(
      '/website',
      'website.format',
      'must be an absolute https URL with a valid ASCII host name and without credentials',
      'Write international names in punycode (xn--…).',
    );
  }
  if (list.clean('/baseUrl') && baseUrl !== undefined) {
    const normalized = normalizeBaseUrl(baseUrl);
    if (!normalized.ok) list.add('/baseUrl', 'baseUrl.format', normalized.error);
  }
  if (!Array.isArray(allowedHosts)) return;
  const seen = new Map<string, number>();
  for (const [index, entry] of allowedHosts.entries()) {
    const at = pointer('allowedHosts', index);
    if (!list.clean(at)) continue;
    const host = normalizeAllowedHost(entry);
    if (!host.ok) {
      list.add(at, 'allowedHosts.item.format', host.error);
      continue;
    }
    const other = seen.get(host.value);
    if (other !== undefined) list.add(at, 'allowedHosts.unique', `is the same host as entry ${other}`);
    seen.set(host.value, index);
  }
}

/** Models are unique after trimming, and every narrowed list is a subset of them. */
function checkModels(meta: Meta, list: FaultList): void {
  if (!Array.isArray(meta.models) || !list.clean('/models')) return;
  const models = new Map<string, number>();
  for (const [index, name] of meta.models.entries()) {
    const other = models.get(name.trim());
    if (other !== undefined) list.add(pointer('models', index), 'models.unique', `is the same as entry ${other}`);
    models.set(name.trim(), index);
  }
  const subset = (names: unknown, at: string, rule: string): void => {
    if (!Array.isArray(names) || !list.clean(at)) return;
    for (const [index, name] of names.entries()) {
      if (!models.has(String(name).trim())) {
        list.add(at + pointer(index), rule, `${JSON.stringify(name)} is not in meta.models`);
      }
    }
  };
  const entriesOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  for (const [index, route] of entriesOf(meta.routes).entries()) {
    if (isObject(route)) subset(route.models, pointer('routes', index, 'models'), 'route.models.subset');
  }
  for (const [index, entry] of entriesOf(meta.protocols).entries()) {
    if (isObject(entry)) subset(entry.models, pointer('protocols', index, 'models'), 'protocol.models.subset');
  }
}

function checkTexts(meta: Meta, list: FaultList): void {
  if (meta.description !== undefined && list.clean('/description')) {
    checkLocaleCollisions(meta.description, '/description', list);
  }
  if (!isObject(meta.usageSchema)) return;
  for (const [name, field] of Object.entries(meta.usageSchema)) {
    const at = pointer('usageSchema', name);
    if (!list.clean(at) || !isObject(field)) continue;
    if (field.description !== undefined) checkLocaleCollisions(field.description, `${at}/description`, list);
    if (!('enum' in field)) continue;
    for (const [value, label] of Object.entries(field.enumLabels ?? {})) {
      const labelAt = `${at}/enumLabels${pointer(value)}`;
      if (!field.enum.includes(value)) {
        list.add(labelAt, 'usageField.enumLabels.declared', `${JSON.stringify(value)} is not a value of this enum`);
      }
      checkLocaleCollisions(label, labelAt, list);
    }
  }
}

function checkProtocolNames(protocols: readonly unknown[], list: FaultList): void {
  const seen = new Map<string, number>();
  for (const [index, entry] of protocols.entries()) {
    const name = nameOfEntry(entry);
    if (name === '' || !list.clean(pointer('protocols', index, 'name'))) continue;
    const other = seen.get(name);
    if (other !== undefined) {
      list.add(
        pointer('protocols', index),
        'protocol.unique',
        `claims the same protocol as entry ${other}`,
        'One entry a protocol.',
      );
    }
    seen.set(name, index);
  }
}
