import { readFileSync } from 'node:fs';
import { isObject, type JsonObject, newUuid, OperatorError, parseJson } from '../../../kernel/index.ts';
import { readEnvironment } from '../../config/config.ts';
import { readClientSettings } from '../client/client-settings.ts';
import { followTask, reportTask } from '../client/follow-task.ts';
import { createGatewayClient } from '../client/gateway-client.ts';
import { type CommandInput, type ExitCode, option, UsageError } from '../command.ts';

/** Submits a request to the plugin that serves the model, and waits for it where asked to. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [model = ''] = input.positionals;
  const client = createGatewayClient(readClientSettings(readEnvironment()));
  const body = readBody(input, model);
  const { plugin, supported_endpoint_types: types } = await client.get(
    `/models/${model.split('/').map(encodeURIComponent).join('/')}?detail=true`,
  );
  if (typeof plugin !== 'string') {
    throw new OperatorError(
      `"${model}" is passed on to a vendor, and makes no tasks: call it with a client of OpenAI's API`,
    );
  }
  const isVideo = Array.isArray(types) && types.includes('openai-video');
  const path = isVideo ? '/video/generations' : `/tasks/${encodeURIComponent(plugin)}`;
  const created = await client.post(path, body, newUuid());
  const id = String(created.id);
  const waits = input.values.wait === true || option(input, 'out') !== undefined;
  const task = await (waits ? followTask(client, id, input.io) : client.get(`/tasks/${encodeURIComponent(id)}`));
  return reportTask(client, task, input);
}

function readBody(input: CommandInput, model: string): JsonObject {
  const more = option(input, 'body');
  const members = more === undefined ? {} : parseJson(more);
  if (!isObject(members)) throw new UsageError('--body must be a JSON object', 'run');
  const [prompt, image, seconds, size] = ['prompt', 'image', 'seconds', 'size'].map((name) => option(input, name));
  return {
    ...(members as JsonObject),
    model,
    ...(prompt === undefined ? {} : { prompt }),
    ...(image === undefined ? {} : { image: readImage(image) }),
    ...(seconds === undefined ? {} : { seconds }),
    ...(size === undefined ? {} : { size }),
  };
}

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};

/** An address goes on as it is, a file as a data URL. */
function readImage(image: string): string {
  if (/^https?:\/\//i.test(image)) return image;
  const type = TYPES[image.split('.').at(-1)?.toLowerCase() ?? ''];
  if (type === undefined) throw new UsageError(`--image: ${image} is no png, jpg, webp or gif`, 'run');
  try {
    return `data:${type};base64,${readFileSync(image).toString('base64')}`;
  } catch (error) {
    throw new OperatorError(`${image} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}
