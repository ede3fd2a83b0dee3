/**
 * What the playground's form offers for each model of a factory plugin is what the plugin takes:
 * the fields that it requires are enough, what a range allows is accepted and billed as it was
 * said, and what it forbids is refused.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import type { CallableModel } from '../../src/panel/api/types.ts';
import { fillEmptyFields, findInvalidField } from '../../src/panel/pages/playground/schema-fields.ts';
import { type Administrator, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { accountKey } from '../support/service-account-cloud.ts';

const keys = readdirSync(new URL('../../src/plugins/factory/', import.meta.url))
  .filter((name) => name.endsWith('.js'))
  .map((name) => name.slice(0, -'.js'.length));

type Field = { type: string; enum?: (string | number)[]; minimum?: number; maximum?: number; multipleOf?: number };
type Model = {
  plugin_key: string;
  examples: { label: string; facts: Record<string, unknown> }[];
  model: string;
  schema: { required: string[]; properties: Record<string, Field & Record<string, unknown>> };
};
type Quote = { refused: { message: string } | null; facts: Record<string, unknown> };

/** What a channel must say before its models can be called. */
const SETTINGS: Record<string, Record<string, unknown>> = {
  // Without a bucket Vertex makes small videos only, whatever the model.
  vertex: { storage_uri: 'gs://results/videos' },
  fal: { paths: { 'fal/video': 'fal-ai/a/b', 'fal/image': 'fal-ai/a/c', 'fal/audio': 'fal-ai/a/d' } },
  replicate: { models: { 'replicate/video': 'a/b', 'replicate/image': 'a/c', 'replicate/audio': 'a/d' } },
  openrouter: { models: { 'openrouter/video': 'a/b' } },
  comfyui: {
    workflows: Object.fromEntries(
      ['image', 'video', 'audio'].map((kind) => [
        `comfyui-${kind}`,
        { workflow: { '1': { class_type: 'Text', inputs: { text: '' } } }, inputs: { prompt: '1.text' } },
      ]),
    ),
  },
};

let gateway: Gateway;
let admin: Administrator;
let models: Model[];
beforeAll(async () => {
  gateway = await startGateway({ env: { CRITICAL_RATE_LIMIT: '100000', GLOBAL_API_RATE_LIMIT: '100000' } });
  admin = await setUp(gateway);
  const plugins = await admin.call<{ meta: { key: string; models: string[] } }[]>('GET', '/api/plugin/task');
  for (const { meta } of plugins) {
    // The form that all of them read.
    const key = meta.key === 'vertex' ? accountKey('http://127.0.0.1:9') : 'access|secret';
    const settings = SETTINGS[meta.key] ? { settings: SETTINGS[meta.key] } : {};
    await admin.createChannel('http://127.0.0.1:9', {
      task_plugin_key: meta.key,
      key,
      models: meta.models,
      ...settings,
    });
  }
  models = await admin.call<Model[]>('GET', '/api/model');
  for (const { plugin_key, model, schema } of models) {
    await admin.call('PUT', '/api/price', { plugin_key, model, expression: readPrice(schema.properties) });
  }
});
afterAll(() => gateway?.stop());

const isFact = (field: Record<string, unknown>): boolean =>
  field.pattern === undefined && field['x-input'] === undefined;

/** A price that uses every fact of the form: a quote answers with those. */
const readPrice = (fields: Model['schema']['properties']): string =>
  Object.entries(fields)
    .filter(([name, field]) => name !== 'model' && name !== 'prompt' && isFact(field))
    .map(([name, { type }]) =>
      type === 'string'
        ? `(u("${name}") == "" ? 0 : 0.01)`
        : type === 'number'
          ? `u("${name}")`
          : `(u("${name}") ? 1 : 0)`,
    )
    .concat('0.01')
    .join(' + ');

/** Seconds of a given video, of unknown length, that a model bills beside those that it makes. */
const GIVEN_SECONDS: Record<string, number> = { 'wan2.7-videoedit': 10 };

/** As the form sends a chosen file. */
const FILES: Record<string, string> = {
  image: 'data:image/png;base64,iVBORw0KGgo=',
  video: 'data:video/mp4;base64,AAAAGGZ0eXA=',
  audio: 'data:audio/mpeg;base64,SUQzBAA=',
};

/** A prompt, and what the form marks as required: nothing else that the plugin would know. */
function readRequest({ model, schema }: Model): Record<string, unknown> {
  const request: Record<string, unknown> = { model, prompt: 'a kite' };
  for (const name of schema.required) {
    const field: Record<string, unknown> = schema.properties[name] ?? {};
    const { 'x-input': input, 'x-example': example } = field;
    if (input !== undefined) request[name] = FILES[input as string] ?? example ?? 'words';
  }
  // Lyrics are required of songs alone.
  if ('lyrics' in schema.properties) request.lyrics = 'la la';
  return request;
}

const emptied = ({ schema }: Model) =>
  Object.fromEntries(Object.keys(schema.properties).map((name) => [name, undefined]));

const quote = (model: Model, more: Record<string, unknown>) =>
  admin.call<Quote>('POST', '/api/task/quote', {
    plugin_key: model.plugin_key,
    body: { ...readRequest(model), ...more },
  });

/** Values of the field, taken and refused. */
function readValues({ type, enum: values, minimum, maximum, multipleOf, ...field }: Field & Record<string, unknown>) {
  if (type === 'boolean') return { taken: [true, false], refused: [] };
  if (values !== undefined)
    return { taken: values, refused: type === 'number' ? betweenFor(values as number[]) : ['8'] };
  if (type !== 'number' || field['x-range'] !== 'plugin') return { taken: [], refused: [] };
  const [least, most] = [minimum ?? 0, maximum ?? 0];
  return {
    taken: [least, most, ...(multipleOf === undefined ? [(least + most) / 2 + 0.25] : [])],
    refused: [least / 2, most + 1, ...(multipleOf === undefined ? [] : [least + 0.5])],
  };
}
const betweenFor = (values: number[]) =>
  [Math.min(...values) - 1, Math.max(...values) + 1, ...values.map((value) => value + 1)].filter(
    (value) => !values.includes(value),
  );

/**
 * What a request may say of an example's facts: a plugin's examples are of all its models, and some
 * facts are counted from other fields. Null: nothing, or nothing that this model takes.
 */
function readExample(model: Model, facts: Record<string, unknown>): Record<string, unknown> | null {
  const { properties } = model.schema;
  const said = Object.entries(facts).filter(([name]) => properties[name] && isFact(properties[name]));
  const isTaken = said.every(([name, value]) => properties[name]?.enum?.includes(value as string | number) !== false);
  const fields = Object.fromEntries(said);
  const isFit = findInvalidField(model as unknown as CallableModel, fields) === null;
  return said.length > 0 && isTaken && isFit ? fields : null;
}

describe.each(keys)('%s', (key) => {
  test('takes what its form offers, bills what was said, and refuses the rest', async () => {
    const served = models.filter(({ plugin_key }) => plugin_key === key);
    expect(served.length).toBeGreaterThan(0);
    const faults: string[] = [];
    for (const model of served) {
      const plain = await quote(model, {});
      if (plain.refused !== null) faults.push(`${model.model}: what the form requires: ${plain.refused.message}`);
      const empty = fillEmptyFields(model as unknown as CallableModel, { model: model.model });
      const unfinished = await quote(model, { ...emptied(model), ...empty });
      if (unfinished.refused !== null) faults.push(`${model.model}: an empty form: ${unfinished.refused.message}`);
      for (const name of model.schema.required.filter((required) => required !== 'model')) {
        const lacking = await quote(model, { [name]: undefined });
        if (lacking.refused === null) faults.push(`${model.model}: ${name} is not required`);
      }
      for (const { label, facts } of model.examples) {
        const fields = readExample(model, facts);
        const answer = fields === null ? undefined : await quote(model, fields);
        if (answer?.refused) faults.push(`${model.model}: example ${label}: ${answer.refused.message}`);
      }
      for (const [name, field] of Object.entries(model.schema.properties)) {
        if (name === 'model' || name === 'prompt' || !isFact(field)) continue;
        const isStated = field.type !== 'number' || field['x-range'] === 'plugin';
        if (!isStated) faults.push(`${model.model}: no range of ${name}`);
        const { taken, refused } = readValues(field);
        const given = name === 'seconds' ? (GIVEN_SECONDS[model.model] ?? 0) : 0;
        for (const value of taken) {
          // 512P is made of a first frame alone.
          const frame = value === '512P' ? { image: FILES.image } : {};
          const answer = await quote(model, { [name]: value, ...frame });
          if (answer.refused !== null) faults.push(`${model.model}: ${name} ${value}: ${answer.refused.message}`);
          else if (answer.facts[name] !== (given > 0 ? Number(value) + given : value))
            faults.push(`${model.model}: ${name} ${value}: ${answer.facts[name]}`);
        }
        for (const value of refused) {
          const answer = await quote(model, { [name]: value });
          if (answer.refused === null) faults.push(`${model.model}: ${name} ${value} is taken`);
        }
      }
    }
    expect(faults).toEqual([]);
  });
});
