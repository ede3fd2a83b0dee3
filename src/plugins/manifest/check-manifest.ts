import type { Meta } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, ok, type Result, sentence, toSentence } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { isHttpUrl, isWebsite, normalizeAllowedHost, normalizeBaseUrl } from './addresses.ts';
import { checkFact } from './check-facts.ts';
import { explainSchemaFaults, type SchemaCheck } from './check-schema.ts';
import { FaultList, makeFault, pointer } from './faults.ts';
import { checkLocaleCollisions, trimTexts } from './localized-text.ts';
import { toManifest, toUsageField } from './normalize-meta.ts';
import { translateProtocols } from './protocol-aliases.ts';
import { reservedAtFirst, routeParams, routeShape } from './route-paths.ts';

/**
 * Checks `meta` against the schema and against rules that a schema cannot express. Gives the
 * manifest, or all faults at once. A rule that builds on another one is not checked where that one
 * is broken, so each mistake is reported once.
 */
export function checkManifest(
  meta: Json | undefined,
  exports: Record<string, ExportShape>,
  checkSchema: SchemaCheck,
): Result<Manifest, PluginFault[]> {
  if (!isObject(meta)) {
    const message = meta === undefined ? sentence('fault.no_meta') : sentence('fault.meta_object');
    return err([makeFault('', 'manifest.type', message)]);
  }
  const prepared = trimTexts(translateProtocols(meta as Json, exports));
  const list = new FaultList();
  list.addAll(explainSchemaFaults(checkSchema(prepared)));

  // Each check below reads a part only if the schema found no fault in it, so the type holds there.
  const typed = prepared as Meta & Json;
  checkAddresses(typed, list);
  checkModels(typed, list);
  if (typed.description !== undefined) checkLocaleCollisions(typed.description, '/description', list);
  checkRoutes(toList(typed.routes), list);
  const delta = toList(typed.requiredCapabilities).indexOf('submit-sse-delta@1');
  if (delta >= 0 && !toList(typed.submitResponseTypes).includes('sse'))
    list.add(pointer('requiredCapabilities', delta), 'requiredCapabilities.delta', sentence('fault.delta_sse'));
  for (const usage of listUsage(typed)) {
    checkTexts(usage, list);
    checkUsageExamples(usage, list);
  }
  if (list.faults.length > 0) return err(list.faults);

  const written = toList(meta.protocols).map(readProtocolName);
  return ok(toManifest(typed, written, 'listArtifacts' in exports));
}

/** A usage schema with its examples, and where they stand: the plugin's own, or a profile's. */
type WrittenUsage = { schema: Meta['usageSchema']; schemaAt: string; examples: unknown; examplesAt: string };

const listUsage = ({ usageSchema, usageExamples, usageProfiles }: Meta): WrittenUsage[] => [
  { schema: usageSchema, schemaAt: '/usageSchema', examples: usageExamples, examplesAt: '/usageExamples' },
  ...toList(usageProfiles).flatMap((profile, index): WrittenUsage[] => {
    const at = pointer('usageProfiles', index);
    const { schema, examples } = isObject(profile) ? profile : {};
    const schemaAt = `${at}/schema`;
    return [{ schema: schema as Meta['usageSchema'], schemaAt, examples, examplesAt: `${at}/examples` }];
  }),
];

const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const readProtocolName = (entry: unknown): string => {
  if (typeof entry === 'string') return entry;
  return isObject(entry) && typeof entry.name === 'string' ? entry.name : '';
};

function checkAddresses({ author, website, baseUrl, allowedHosts }: Meta, list: FaultList): void {
  if (isObject(author) && typeof author.url === 'string' && list.clean('/author/url') && !isHttpUrl(author.url)) {
    list.add('/author/url', 'author.url.format', sentence('fault.http_url'));
  }
  if (list.clean('/website') && website && !isWebsite(website)) {
    list.add('/website', 'website.format', sentence('fault.website_host'));
  }
  if (list.clean('/baseUrl') && baseUrl !== undefined) {
    const normalized = normalizeBaseUrl(baseUrl);
    if (!normalized.ok) list.add('/baseUrl', normalized.error.rule, toSentence(normalized.error));
  }
  const seen = new Map<string, number>();
  for (const [index, entry] of toList(allowedHosts).entries()) {
    const at = pointer('allowedHosts', index);
    if (!list.clean(at)) continue;
    const host = normalizeAllowedHost(String(entry));
    if (!host.ok) {
      list.add(at, 'allowedHosts.item.format', host.error);
      continue;
    }
    const other = seen.get(host.value);
    if (other === undefined) seen.set(host.value, index);
    else list.add(at, 'allowedHosts.unique', sentence('fault.same_host', { number: other }));
  }
}

/** Models are unique after trimming. So is every narrowed list, which is a subset of them. */
function checkModels(meta: Meta, list: FaultList): void {
  const models = new Map<string, number>();
  for (const [index, name] of toList(meta.models).entries()) {
    const at = pointer('models', index);
    if (typeof name !== 'string') continue;
    const other = models.get(name.trim());
    if (other === undefined) models.set(name.trim(), index);
    else if (list.clean(at)) list.add(at, 'models.unique', sentence('fault.same_entry', { number: other }));
  }
  // Without a list of models every narrowed model would be reported, and none is the mistake.
  if (models.size === 0) return;
  type Subject = 'route' | 'protocol' | 'usageProfile';
  const checkNarrowed = (names: unknown, at: string, subject: Subject): void => {
    if (list.has(at)) return;
    const seen = new Map<string, number>();
    for (const [index, name] of toList(names).entries()) {
      const itemAt = at + pointer(index);
      if (typeof name !== 'string' || !list.clean(itemAt)) continue;
      const other = seen.get(name.trim());
      seen.set(name.trim(), index);
      if (other !== undefined)
        list.add(itemAt, `${subject}.models.unique`, sentence('fault.same_entry', { number: other }));
      else if (!models.has(name.trim()))
        list.add(itemAt, `${subject}.models.subset`, sentence('fault.not_in_models', { model: JSON.stringify(name) }));
    }
  };
  for (const [index, route] of toList(meta.routes).entries()) {
    if (isObject(route)) checkNarrowed(route.models, pointer('routes', index, 'models'), 'route');
  }
  for (const [index, entry] of toList(meta.protocols).entries()) {
    if (isObject(entry)) checkNarrowed(entry.models, pointer('protocols', index, 'models'), 'protocol');
  }
  const profiles = new Map<string, number>();
  for (const [index, profile] of toList(meta.usageProfiles).entries()) {
    if (!isObject(profile)) continue;
    const at = pointer('usageProfiles', index, 'models');
    checkNarrowed(profile.models, at, 'usageProfile');
    for (const [position, name] of toList(profile.models).entries()) {
      const model = typeof name === 'string' ? name.trim() : '';
      const other = profiles.get(model) ?? index;
      if (other !== index && list.clean(at + pointer(position)))
        list.add(
          at + pointer(position),
          'usageProfile.models.unique',
          sentence('fault.profile_same', { number: other }),
        );
      profiles.set(model, other);
    }
  }
}

function checkTexts({ schema, schemaAt }: WrittenUsage, list: FaultList): void {
  if (!isObject(schema)) return;
  for (const [name, field] of Object.entries(schema) as [string, Json][]) {
    if (!isObject(field)) continue;
    const at = schemaAt + pointer(name);
    checkLocaleCollisions(field.description as Json, `${at}/description`, list);
    checkLocaleCollisions(field.unitLabel as Json, `${at}/unitLabel`, list);
    if (!isObject(field.enumLabels) || list.has(`${at}/enumLabels`)) continue;
    for (const [value, label] of Object.entries(field.enumLabels)) {
      const labelAt = `${at}/enumLabels${pointer(value)}`;
      if (Array.isArray(field.enum) && !field.enum.includes(value)) {
        list.add(
          labelAt,
          'usageField.enumLabels.declared',
          sentence('fault.not_in_enum', { value: JSON.stringify(value) }),
        );
      }
      checkLocaleCollisions(label as Json, labelAt, list);
    }
  }
}

/** Checks the rules of `meta.routes` beyond the schema: parameters, reserved paths, uniqueness. */
function checkRoutes(routes: readonly unknown[], list: FaultList): void {
  const shapes = new Map<string, number>();
  for (const [index, route] of routes.entries()) {
    const at = pointer('routes', index);
    if (!isObject(route) || typeof route.path !== 'string' || !list.clean(`${at}/path`)) continue;
    checkPath(route.path, `${at}/path`, list);
    checkTaskIdParam({ ...route, path: route.path }, at, list);
    if (!list.clean(`${at}/method`)) continue;
    const shape = `${String(route.method)} ${routeShape(route.path)}`;
    const other = shapes.get(shape);
    if (other === undefined) shapes.set(shape, index);
    else list.add(`${at}/path`, 'route.unique', sentence('fault.route_same', { number: other, shape }));
  }
}

function checkPath(path: string, at: string, list: FaultList): void {
  const reserved = reservedAtFirst(path);
  if (reserved) list.add(at, 'route.reserved', sentence('fault.route_reserved', { path: reserved }));
  const params = routeParams(path);
  if (new Set(params).size < params.length) list.add(at, 'route.path.params', sentence('fault.route_parameter_twice'));
}

function checkTaskIdParam(route: Record<string, unknown> & { path: string }, at: string, list: FaultList): void {
  if (route.type !== 'query' || !list.clean(`${at}/taskIdParam`)) return;
  const param = String(route.taskIdParam ?? 'task_id');
  if (!routeParams(route.path).includes(param)) {
    list.add(`${at}/path`, 'route.path.task_id', sentence('fault.route_task_id', { name: param }));
  }
}

/** Checks that every example has a valid fact for each field of its schema, and no others. */
function checkUsageExamples(
  { schema: usageSchema = {}, schemaAt, examples, examplesAt }: WrittenUsage,
  list: FaultList,
): void {
  if (!Array.isArray(examples) || !isObject(usageSchema)) return;
  for (const [index, example] of examples.entries()) {
    if (!isObject(example) || !isObject(example.facts)) continue;
    const { facts } = example;
    const at = examplesAt + pointer(index, 'facts');
    for (const [name, field] of Object.entries(usageSchema)) {
      const factAt = at + pointer(name);
      if (!Object.hasOwn(facts, name)) {
        list.add(factAt, 'usageExample.facts.complete', sentence('fault.example_complete'));
      } else if (list.clean(schemaAt + pointer(name))) {
        const checked = checkFact(toUsageField(field), facts[name]);
        if (!checked.ok) list.add(factAt, 'usageExample.facts.value', checked.error);
      }
    }
    for (const name of Object.keys(facts)) {
      if (!Object.hasOwn(usageSchema, name)) {
        list.add(at + pointer(name), 'usageExample.facts.undeclared', sentence('fault.example_undeclared', { name }));
      }
    }
  }
}
