import { readFileSync } from 'node:fs';
import { isObject, isoTime, type JsonObject, newUuid, OperatorError, parseJson } from '../../../kernel/index.ts';
import { readEnvironment } from '../../config/config.ts';
import { askSecret } from '../ask-secret.ts';
import { normalizeUrl, readClientSettings, writeClientSettings } from '../client/client-settings.ts';
import { createGatewayClient, type GatewayClient } from '../client/gateway-client.ts';
import { reportTask, waitForTask } from '../client/wait-for-task.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';

/** Tries an API key, and remembers it with its gateway. */
export async function login(input: CommandInput): Promise<ExitCode> {
  const url = normalizeUrl(input.positionals[0] ?? '');
  const given = input.values['key-stdin'] === true ? await input.io.readStdin() : await askSecret('API key: ');
  const key = given?.trim() ?? '';
  if (key === '') throw new OperatorError('an API key is needed: enter it at the terminal, or give --key-stdin');
  const { data } = await createGatewayClient({ url, key }).get('/models');
  const models = Array.isArray(data) ? data.length : 0;
  const file = writeClientSettings(readEnvironment(), { url, key });
  answer(input, { ok: true, url, models, file }, `logged in to ${url}, which offers ${models} models (${file})`);
  return EXIT.ok;
}

const openClient = (): GatewayClient => createGatewayClient(readClientSettings(readEnvironment()));

/** Lists the models that the key may use. */
export async function listModels(input: CommandInput): Promise<ExitCode> {
  const { data } = await openClient().get('/models');
  const models = (Array.isArray(data) ? data : []) as JsonObject[];
  const lines = models.map(
    ({ id, supported_endpoint_types: types }) => `${String(id)}  ${Array.isArray(types) ? types.join(', ') : ''}`,
  );
  answer(input, models, lines.length === 0 ? 'no models' : lines.join('\n'));
  return EXIT.ok;
}

/** Submits a request to what serves the model, and waits for it where asked to. */
export async function runModel(input: CommandInput): Promise<ExitCode> {
  const [model = ''] = input.positionals;
  const client = openClient();
  const body = readBody(input, model);
  const { plugin, supported_endpoint_types: types } = await client.get(
    `/models/${model.split('/').map(encodeURIComponent).join('/')}?detail=true`,
  );
  const makes = Array.isArray(types) ? types : [];
  if (typeof plugin !== 'string') {
    if (!makes.includes('image-generation') || body.image !== undefined) {
      throw new OperatorError(
        `"${model}" is passed on to a vendor; of such models only pictures from a text run here: call it with a client of OpenAI's API`,
      );
    }
    const answered = await client.post('/images/generations', { ...body, background: true }, newUuid());
    // A gateway without file storage returns the pictures in the answer.
    return answered.id === undefined
      ? reportTask(client, { id: model, status: 'SUCCESS', result: answered }, input)
      : showTask(client, String(answered.id), input);
  }
  const path = makes.includes('openai-video') ? '/video/generations' : `/tasks/${encodeURIComponent(plugin)}`;
  const created = await client.post(path, body, newUuid());
  return showTask(client, String(created.id), input);
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
  if (type === undefined) throw new UsageError(`--image: ${image} is not a png, jpg, webp or gif`, 'run');
  try {
    return `data:${type};base64,${readFileSync(image).toString('base64')}`;
  } catch (error) {
    throw new OperatorError(`${image} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

/** Shows a task, and downloads what it has made. */
export const getTask = (input: CommandInput): Promise<ExitCode> =>
  showTask(openClient(), input.positionals[0] ?? '', input);

async function showTask(client: GatewayClient, id: string, input: CommandInput): Promise<ExitCode> {
  const waits = input.values.wait === true || option(input, 'out') !== undefined;
  const task = await (waits ? waitForTask(client, id, input.io) : client.get(`/tasks/${encodeURIComponent(id)}`));
  return reportTask(client, task, input);
}

/** Lists the latest tasks of the key's owner. */
export async function listTasks(input: CommandInput): Promise<ExitCode> {
  const client = openClient();
  const lists = await Promise.all([client.get('/tasks?limit=20'), client.get('/tasks?limit=20&relayed=true')]);
  const tasks = lists
    .flatMap(({ data }) => (Array.isArray(data) ? data : []) as JsonObject[])
    .sort((one, other) => Number(other.created_at) - Number(one.created_at))
    .slice(0, 20);
  const lines = tasks.map(({ id, status, progress, model, created_at: at }) =>
    [id, isoTime(Number(at) * 1000), String(status).padEnd(11), String(progress).padStart(4), model].join('  '),
  );
  answer(input, tasks, lines.length === 0 ? 'no tasks' : lines.join('\n'));
  return EXIT.ok;
}
