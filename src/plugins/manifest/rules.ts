const RETYPE = 'Retype it: a pasted text may contain characters that are not visible.';

/**
 * Every rule that a plugin can break: its stable id, and a hint how to fix it. An id is the subject
 * and its faulty aspect; `required` covers all subjects, so look at the fault's path. `null`: the
 * hint depends on the name, and comes with the fault.
 */
export const RULES = {
  'manifest.type': 'Write export const meta = { apiVersion: 1, key: "acme-video", … }.',
  required: null,
  unknown_property: 'Remove it, or look for another spelling: names are case-sensitive.',
  removed_name: null,

  'apiVersion.value': 'This gateway supports version 1 of the plugin contract: apiVersion: 1.',
  'key.type': 'Write the plugin\'s id in quotes, such as "acme-video".',
  'key.length': 'Shorten it: the key is part of every task and of URLs.',
  'key.format': 'For example "acme-video".',
  'name.type': 'Write the name that people see in quotes.',
  'name.format': 'Write the name that people see, such as "Acme Video".',
  'name.characters': RETYPE,
  'version.type': 'Write the version in quotes, such as "1.4.0".',
  'version.format': 'Three numbers such as "1.4.0", optionally with "-beta.1" or "+build".',
  'author.type': 'Write author: { name: "Acme Inc." }.',
  'author.name.type': "Write the author's name in quotes.",
  'author.name.format': "Write the author's name.",
  'author.name.characters': RETYPE,
  'author.url.type': 'Write the address in quotes, or leave url out.',
  'author.url.format': 'Write the whole address, such as "https://example.com/acme", or leave url out.',
  'models.type': 'Write a list, such as models: ["acme-1"].',
  'models.count': 'Name the models that clients may ask for, such as models: ["acme-1"].',
  'models.unique': 'Name each model once; spaces around a name do not matter.',
  'models.item.type': "Write each model's name in quotes.",
  'models.item.format': 'Write the name that clients send as model.',
  'models.item.characters': RETYPE,
  'fetchMode.value': 'Write "per_task" if each task is queried alone, "batch" if one request queries many tasks.',
  'icon.type': 'Write the icon\'s name in quotes, such as "Kling.Color" or "text:AC".',
  'icon.length': 'Write an icon\'s name, or "text:" and one or two letters.',
  'icon.format': 'Write an icon\'s name or "text:AC"; an image goes beside the source as icon.svg or icon.png.',
  'sortPriority.type': 'Write a whole number; 0 is the default.',
  'sortPriority.range': 'Write a number of 32 bits; higher ones are listed first.',
  'website.type': 'Write the address in quotes, or leave website out.',
  'website.format': 'Write an address such as "https://example.com"; international names in punycode (xn--…).',
  'baseUrl.type': 'Write the vendor\'s address in quotes, such as "https://api.example.com".',
  'baseUrl.length': 'Leave out what differs between requests: hooks add the path.',
  'baseUrl.format':
    'Write scheme, host and at most a path, such as "https://api.example.com/v2"; a key belongs to the channel.',
  'allowedHosts.type': 'Write a list, such as allowedHosts: ["cdn.example.com"].',
  'allowedHosts.unique': 'Name each host once; case does not matter.',
  'allowedHosts.item.type': 'Write the host in quotes.',
  'allowedHosts.item.format':
    'For example "cdn.example.com" or "[2001:db8::1]:8443"; international names in punycode (xn--…).',
  'channelTypes.type': "Write a list of numbers, or leave channelTypes out and bind channels by the plugin's key.",
  'channelTypes.unique': 'Name each type once.',
  'channelTypes.item.type': 'Write a whole number, such as 55.',
  'channelTypes.item.range': 'Channel types count from 1.',
  'channelTypes.item.forbidden': "Leave it out: a channel of type 61 names the plugin's key and needs nothing here.",

  'text.type': 'Write a text, or texts by locale: { en: "…", zh: "…" }.',
  'text.format': 'Write one line of text.',
  'text.length': 'Shorten it; a surrogate pair counts as one character.',
  'text.count': 'Keep the locales that readers use; all others see English.',
  'text.locale.format': 'Write a language, optionally with script and region: "en", "zh-CN", "zh-Hant-TW".',
  'text.locale.unique': 'Keep one of them: locales that differ only in case are the same.',
  'text.en.required': 'Add en: readers of other locales see English.',

  'protocols.type': 'Write a list, such as protocols: ["proto_video"].',
  'protocol.type':
    'Write "proto_video", { name: "proto_video", models } or { name: "proto_responses", supports, models }.',
  'protocol.unique': 'Write one entry per protocol.',
  'protocol.bare.value':
    'Only a protocol without modes may be a bare name: "proto_video". Write { name: "proto_responses", supports: ["sync"] }.',
  'protocol.name.value': 'The gateway has proto_video and proto_responses.',
  'protocol.models.type': 'Write a list, or leave models out to claim all of meta.models.',
  'protocol.models.count': 'Name a model, or leave models out to claim all of meta.models.',
  'protocol.models.unique': 'Name each model once.',
  'protocol.models.item.type': "Write each model's name in quotes.",
  'protocol.models.subset': 'Add it to meta.models, or take it out here.',
  'protocol.supports.type': 'Write a list of request forms: ["stream", "sync", "background"].',
  'protocol.supports.count': 'Name the request forms that the plugin can render: "stream", "sync", "background".',
  'protocol.supports.unique': 'Name each form once.',
  'protocol.supports.item.type': 'Write "stream", "sync" or "background".',
  'protocol.supports.item.value': 'Write "stream", "sync" or "background".',

  'routes.type': 'Write a list of routes.',
  'route.type': 'Write { method, path, type, render, … }.',
  'route.unique':
    'Give one of them another method or path; paths that differ only in names of parameters are the same.',
  'route.reserved': 'Begin with a segment of your own, such as "/acme/v1".',
  'route.method.value': 'Write the method in capitals; GET serves HEAD as well.',
  'route.path.type': 'Write the path in quotes, such as "/acme/v1/jobs".',
  'route.path.format': "No query, fragment, percent sign, '//' or '.' and '..' segments; '/' alone is the panel's.",
  'route.path.params': 'Give each parameter its own name.',
  'route.path.task_id': 'Put the parameter into the path, or name another one in taskIdParam.',
  'route.type.value': '"submit" creates a task, "query" shows one, "dynamic" decides by the request.',
  'route.render.type': 'Name a function of the exported native.',
  'route.render.format': 'Name a function of the exported native.',
  'route.decode.type': 'Name a function of the exported native.',
  'route.decode.format': 'Name a function of the exported native.',
  'route.decode.forbidden': 'Remove decode, or make the route "dynamic".',
  'route.action.type': 'Write the action in quotes, or leave it out.',
  'route.taskIdParam.type': "Write the parameter's name in quotes, or leave it out for task_id.",
  'route.taskIdParam.format': 'Write the name without the colon, such as "id".',
  'route.models.type': 'Write a list, or leave models out to serve all of meta.models.',
  'route.models.count': 'Name a model, or leave models out to serve all of meta.models.',
  'route.models.unique': 'Name each model once.',
  'route.models.forbidden': 'Remove models: a query finds its task by the id.',
  'route.models.item.type': "Write each model's name in quotes.",
  'route.models.subset': 'Add it to meta.models, or take it out here.',

  'usageSchema.type': 'Write fields by name: { seconds: { type: "number", unit: "second" } }.',
  'usageSchema.name.format': 'Give the field a name that prices can use, such as seconds.',
  'usageField.type': 'Write { enum: […] }, { type: "number", unit } or { type: "boolean" }.',
  'usageField.enum.type': 'Write a list of values in quotes.',
  'usageField.enum.count': 'Name the values that the hooks report.',
  'usageField.enum.unique': 'Name each value once.',
  'usageField.enum.item.type': 'Write each value in quotes.',
  'usageField.enumLabels.type': 'Write labels by value: { "720p": "HD" }.',
  'usageField.enumLabels.forbidden': 'Remove enumLabels.',
  'usageField.enumLabels.declared': 'Add the value to enum, or remove its label.',
  'usageField.type.value':
    'Write type: "number" with a unit, or type: "boolean"; a field of fixed values has enum instead.',
  'usageField.type.forbidden': 'Remove type, or remove enum.',
  'usageField.unit.value': 'Write "second", "count", "token" or "credit".',
  'usageField.unit.forbidden': 'Remove unit: only a number field has one.',
  'usageExamples.type': 'Write a list of { label, facts }.',
  'usageExamples.token.count': 'Add an example: a schema with a number field in tokens needs at least one.',
  'usageExample.type': 'Write { label: "720p · 5 s", facts: { … } }.',
  'usageExample.label.type': "Write the example's name in quotes.",
  'usageExample.label.format': 'Write the example\'s name, such as "720p · 5 s".',
  'usageExample.facts.type': 'Write a value for every field of usageSchema.',
  'usageExample.facts.complete': 'Add a value for it.',
  'usageExample.facts.undeclared': 'Declare it in usageSchema, or remove it.',
  'usageExample.facts.value': 'Write a value that the hooks could report for this field.',

  'export.required': 'Export a function of this name.',
  'export.function': 'Export a plain function, not an async function, generator, class or value.',
  'export.object': 'Export an object whose members are functions.',
  'export.unused': 'Remove it, or declare in meta what uses it.',
  'export.ambiguous': 'Keep one of the two names.',

  'source.size': 'Leave out what the hooks do not need: tables, comments, embedded images.',
  'source.syntax':
    'A plugin is one ECMAScript module: export const meta, export function buildSubmitRequest, … For TypeScript, upload the file that "taskgate plugin build" writes.',
  'source.async': 'A plugin is one synchronous module: it describes requests and the gateway makes them.',
  'source.await': 'A plugin is one synchronous module: it describes requests and the gateway makes them.',
  'source.import': 'A plugin is one file and cannot load others.',
  'source.dynamic_import': 'A plugin is one file and cannot load others.',
  'source.import_meta': 'A plugin is one file and cannot load others.',
  'source.reexport': 'A plugin is one file and cannot load others.',
  'source.require': 'A plugin is one file and cannot load others.',
  'source.compile': 'The module must load without an error and export what can be written as JSON.',
  'source.codec': 'Flatten meta: JSON of at most 256 levels is read.',
  'source.timeout': 'Do at the top level only what every hook needs; a module has 5 seconds to load.',
  'source.killed': 'Do at the top level only what every hook needs, without huge texts and lists.',
  'source.memory': 'Keep tables small: the module is loaded into limited memory.',
  'source.stack': 'Look for a function that calls itself endlessly.',
} as const satisfies Record<string, string | null>;

export type RuleId = keyof typeof RULES;

/** Examples for missing properties, by the subject of the object and the property. */
const MISSING: Record<string, string> = {
  'manifest.apiVersion': 'apiVersion: 1',
  'manifest.key': 'key: "acme-video"',
  'manifest.name': 'name: "Acme Video"',
  'manifest.version': 'version: "1.0.0"',
  'manifest.author': 'author: { name: "Acme Inc." }',
  'manifest.models': 'models: ["acme-1"]',
  'manifest.fetchMode': 'fetchMode: "per_task", or "batch"',
  'usageExamples.token.usageExamples': 'usageExamples: [{ label, facts }], because a number field in tokens needs one',
  'author.name': 'name: "Acme Inc."',
  'protocol.name': 'name: "proto_video"',
  'protocol.supports': 'supports: ["stream", "sync", "background"], or those of them that the plugin renders',
  'route.method': 'method: "POST"',
  'route.path': 'path: "/acme/v1/jobs"',
  'route.type': 'type: "submit", "query" or "dynamic"',
  'route.render': 'render: and the function of native that shows the task',
  'route.decode': 'decode: and the function of native that reads the request',
  'usageField.type': 'type: "number" with a unit or type: "boolean", or enum: […]',
  'usageField.unit': 'unit: "second", "count", "token" or "credit"',
  'usageExample.label': 'label: "720p · 5 s"',
  'usageExample.facts': 'facts: { … } with a value for every field of usageSchema',
};

/** The hint of a missing property; `subject` is the rule subject of the object without it. */
export const hintForMissing = (subject: string, property: string): string => {
  const example = MISSING[`${subject}.${property}`];
  return example === undefined ? `Add ${property}.` : `Add ${example}.`;
};

/** Names of earlier contracts, with what to write instead. Without prototype, for safe lookups. */
const names = (entries: Record<string, string>): Record<string, string | undefined> =>
  Object.assign(Object.create(null), entries);

export const REMOVED_NAMES = names({
  channelType: 'Write channelTypes: [number], or leave it out and bind a channel by the plugin key.',
  compatibleChannelTypes: 'List every type in channelTypes.',
  endpoints: 'Declare native URLs in routes and host protocols in protocols.',
  submitPaths: 'Declare native URLs in routes.',
  actions: 'A decoder or a route names the action.',
  resolveRequest: 'Decode in a member of native, or in protocols.<name>.decodeRequest.',
  renderError: 'Export native.error(ctx, error).',
  renderers: 'Put presenters into native and name them in routes[].render.',
});

export const REMOVED_ROUTE_NAMES = names({ renderer: 'Name the presenter in render.' });

export const REMOVED_EXPORTS = names({
  endpoints: 'Declare native URLs in meta.routes and host protocols in meta.protocols.',
  resolveRequest: 'Decode in a member of native, or in protocols.<name>.decodeRequest.',
  renderError: 'Export native.error(ctx, error).',
  renderers: 'Put presenters into native and name them in routes[].render.',
});
