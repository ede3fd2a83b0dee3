import { type Reason, type Sentence, sentence } from '../../kernel/index.ts';

/**
 * Every rule that a plugin can break: its stable id, and the reason of a hint how to fix it.
 * An id is the subject and its faulty aspect; `required` covers all subjects, so look at the
 * fault's path. `null`: the hint depends on the name, and comes with the fault.
 */
export const RULES = {
  'manifest.type': 'hint.manifest.type',
  required: null,
  unknown_property: 'hint.unknown_property',
  removed_name: null,

  'apiVersion.value': 'hint.apiVersion.value',
  'key.type': 'hint.key.type',
  'key.length': 'hint.key.length',
  'key.format': 'hint.key.format',
  'name.type': 'hint.name.type',
  'name.format': 'hint.name.format',
  'name.characters': 'hint.name.characters',
  'version.type': 'hint.version.type',
  'version.format': 'hint.version.format',
  'author.type': 'hint.author.type',
  'author.name.type': 'hint.author.name.type',
  'author.name.format': 'hint.author.name.format',
  'author.name.characters': 'hint.name.characters',
  'author.url.type': 'hint.author.url.type',
  'author.url.format': 'hint.author.url.format',
  'models.type': 'hint.models.type',
  'models.count': 'hint.models.count',
  'models.unique': 'hint.models.unique',
  'models.item.type': 'hint.models.item.type',
  'models.item.format': 'hint.models.item.format',
  'models.item.characters': 'hint.name.characters',
  'fetchMode.value': 'hint.fetchMode.value',
  'icon.type': 'hint.icon.type',
  'icon.length': 'hint.icon.length',
  'icon.format': 'hint.icon.format',
  'sortPriority.type': 'hint.sortPriority.type',
  'sortPriority.range': 'hint.sortPriority.range',
  'website.type': 'hint.website.type',
  'website.format': 'hint.website.format',
  'baseUrl.type': 'hint.baseUrl.type',
  'baseUrl.length': 'hint.baseUrl.length',
  'baseUrl.format': 'hint.baseUrl.format',
  'allowedHosts.type': 'hint.allowedHosts.type',
  'allowedHosts.unique': 'hint.allowedHosts.unique',
  'allowedHosts.item.type': 'hint.allowedHosts.item.type',
  'allowedHosts.item.format': 'hint.allowedHosts.item.format',
  'channelTypes.type': 'hint.channelTypes.type',
  'channelTypes.unique': 'hint.channelTypes.unique',
  'channelTypes.item.type': 'hint.channelTypes.item.type',
  'channelTypes.item.range': 'hint.channelTypes.item.range',
  'channelTypes.item.forbidden': 'hint.channelTypes.item.forbidden',

  'upstreams.type': 'hint.upstreams',
  'upstreams.unique': 'hint.upstreams',
  'upstreams.item.value': 'hint.upstreams',
  'requiredCapabilities.type': 'hint.requiredCapabilities',
  'requiredCapabilities.unique': 'hint.requiredCapabilities',
  'requiredCapabilities.item.value': 'hint.requiredCapabilities',

  'text.type': 'hint.text.type',
  'text.format': 'hint.text.format',
  'text.length': 'hint.text.length',
  'text.count': 'hint.text.count',
  'text.locale.format': 'hint.text.locale.format',
  'text.locale.unique': 'hint.text.locale.unique',
  'text.en.required': 'hint.text.en.required',

  'protocols.type': 'hint.protocols.type',
  'protocol.type': 'hint.protocol.type',
  'protocol.unique': 'hint.protocol.unique',
  'protocol.bare.value': 'hint.protocol.bare.value',
  'protocol.name.value': 'hint.protocol.name.value',
  'protocol.models.type': 'hint.protocol.models.type',
  'protocol.models.count': 'hint.protocol.models.count',
  'protocol.models.unique': 'hint.protocol.models.unique',
  'protocol.models.item.type': 'hint.models.item.type',
  'protocol.models.subset': 'hint.protocol.models.subset',
  'protocol.supports.type': 'hint.protocol.supports.type',
  'protocol.supports.count': 'hint.protocol.supports.count',
  'protocol.supports.unique': 'hint.protocol.supports.unique',
  'protocol.supports.item.type': 'hint.protocol.supports.item.type',
  'protocol.supports.item.value': 'hint.protocol.supports.item.type',

  'routes.type': 'hint.routes.type',
  'route.type': 'hint.route.type',
  'route.unique': 'hint.route.unique',
  'route.reserved': 'hint.route.reserved',
  'route.method.value': 'hint.route.method.value',
  'route.path.type': 'hint.route.path.type',
  'route.path.format': 'hint.route.path.format',
  'route.path.params': 'hint.route.path.params',
  'route.path.task_id': 'hint.route.path.task_id',
  'route.type.value': 'hint.route.type.value',
  'route.render.type': 'hint.route.render.type',
  'route.render.format': 'hint.route.render.type',
  'route.decode.type': 'hint.route.render.type',
  'route.decode.format': 'hint.route.render.type',
  'route.decode.forbidden': 'hint.route.decode.forbidden',
  'route.action.type': 'hint.route.action.type',
  'route.taskIdParam.type': 'hint.route.taskIdParam.type',
  'route.taskIdParam.format': 'hint.route.taskIdParam.format',
  'route.models.type': 'hint.route.models.type',
  'route.models.count': 'hint.route.models.count',
  'route.models.unique': 'hint.protocol.models.unique',
  'route.models.forbidden': 'hint.route.models.forbidden',
  'route.models.item.type': 'hint.models.item.type',
  'route.models.subset': 'hint.protocol.models.subset',

  'usageSchema.type': 'hint.usageSchema.type',
  'usageSchema.name.format': 'hint.usageSchema.name.format',
  'usageField.type': 'hint.usageField.type',
  'usageField.enum.type': 'hint.usageField.enum.type',
  'usageField.enum.count': 'hint.usageField.enum.count',
  'usageField.enum.unique': 'hint.usageField.enum.unique',
  'usageField.enum.item.type': 'hint.usageField.enum.item.type',
  'usageField.enumLabels.type': 'hint.usageField.enumLabels.type',
  'usageField.enumLabels.forbidden': 'hint.usageField.enumLabels.forbidden',
  'usageField.enumLabels.declared': 'hint.usageField.enumLabels.declared',
  'usageField.type.value': 'hint.usageField.type.value',
  'usageField.type.forbidden': 'hint.usageField.type.forbidden',
  'usageField.unit.value': 'hint.usageField.unit.value',
  'usageField.unit.forbidden': 'hint.usageField.unit.forbidden',
  'usageField.unitLabel.forbidden': 'hint.usageField.unitLabel',
  'usageProfiles.type': 'hint.usageProfiles',
  'usageProfile.type': 'hint.usageProfiles',
  'usageProfile.models.type': 'hint.usageProfiles',
  'usageProfile.models.count': 'hint.usageProfiles',
  'usageProfile.models.unique': 'hint.protocol.models.unique',
  'usageProfile.models.item.type': 'hint.models.item.type',
  'usageProfile.models.subset': 'hint.protocol.models.subset',
  'usageExamples.type': 'hint.usageExamples.type',
  'usageExamples.token.count': 'hint.usageExamples.token.count',
  'usageExample.type': 'hint.usageExample.type',
  'usageExample.label.type': 'hint.usageExample.label.type',
  'usageExample.label.format': 'hint.usageExample.label.format',
  'usageExample.facts.type': 'hint.usageExample.facts.type',
  'usageExample.facts.complete': 'hint.usageExample.facts.complete',
  'usageExample.facts.undeclared': 'hint.usageExample.facts.undeclared',
  'usageExample.facts.value': 'hint.usageExample.facts.value',

  'export.required': 'hint.export.required',
  'export.function': 'hint.export.function',
  'export.object': 'hint.export.object',
  'export.unused': 'hint.export.unused',
  'export.ambiguous': 'hint.export.ambiguous',

  'source.size': 'hint.source.size',
  'source.syntax': 'hint.source.syntax',
  'source.async': 'hint.source.async',
  'source.await': 'hint.source.async',
  'source.import': 'hint.source.import',
  'source.dynamic_import': 'hint.source.import',
  'source.import_meta': 'hint.source.import',
  'source.reexport': 'hint.source.import',
  'source.require': 'hint.source.import',
  'source.compile': 'hint.source.compile',
  'source.codec': 'hint.source.codec',
  'source.timeout': 'hint.source.timeout',
  'source.killed': 'hint.source.killed',
  'source.memory': 'hint.source.memory',
  'source.stack': 'hint.source.stack',
} as const satisfies Record<string, Reason | null>;

export type RuleId = keyof typeof RULES;

/** Examples for missing properties, by the subject of the object and the property. */
const EXAMPLES: Record<string, string> = {
  'manifest.apiVersion': 'apiVersion: 1',
  'manifest.key': 'key: "acme-video"',
  'manifest.name': 'name: "Acme Video"',
  'manifest.version': 'version: "1.0.0"',
  'manifest.author': 'author: { name: "Acme Inc." }',
  'manifest.models': 'models: ["acme-1"]',
  'author.name': 'name: "Acme Inc."',
  'protocol.name': 'name: "proto_video"',
  'route.method': 'method: "POST"',
  'route.path': 'path: "/acme/v1/jobs"',
  'usageExample.label': 'label: "720p · 5 s"',
};

/** Missing properties that need more words than an example. */
const EXPLANATIONS = {
  'manifest.fetchMode': 'hint.add.fetchMode',
  'usageExamples.token.usageExamples': 'hint.add.usageExamples',
  'usageProfile.token.examples': 'hint.usageExamples.token.count',
  'usageProfile.models': 'hint.usageProfiles',
  'usageProfile.schema': 'hint.usageProfiles',
  'protocol.supports': 'hint.add.supports',
  'route.type': 'hint.add.route_type',
  'route.render': 'hint.add.render',
  'route.decode': 'hint.add.decode',
  'usageField.type': 'hint.add.field_type',
  'usageField.unit': 'hint.add.unit',
  'usageExample.facts': 'hint.add.facts',
} as const;

/** The hint of a missing property; `subject` is the rule subject of the object without it. */
export const hintForMissing = (subject: string, property: string): Sentence => {
  const name = `${subject}.${property}`;
  if (Object.hasOwn(EXPLANATIONS, name)) return sentence(EXPLANATIONS[name as keyof typeof EXPLANATIONS]);
  return sentence('hint.add', { example: EXAMPLES[name] ?? property });
};

/** Names of earlier contracts, with what to write instead. Without prototype, for safe lookups. */
const names = <R extends Reason>(entries: Record<string, R>): Record<string, R | undefined> =>
  Object.assign(Object.create(null), entries);

export const REMOVED_NAMES = names({
  channelType: 'hint.removed.channelType',
  compatibleChannelTypes: 'hint.removed.compatibleChannelTypes',
  endpoints: 'hint.removed.endpoints',
  submitPaths: 'hint.removed.submitPaths',
  actions: 'hint.removed.actions',
  resolveRequest: 'hint.removed.resolveRequest',
  renderError: 'hint.removed.renderError',
  renderers: 'hint.removed.renderers',
});

export const REMOVED_ROUTE_NAMES = names({ renderer: 'hint.removed.renderer' });

export const REMOVED_EXPORTS = names({
  endpoints: 'hint.removed.endpoints_export',
  resolveRequest: 'hint.removed.resolveRequest',
  renderError: 'hint.removed.renderError',
  renderers: 'hint.removed.renderers',
});
