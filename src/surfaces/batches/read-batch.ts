/** Reads a batch of requests in each form in which clients send it, and its limits. */
import { createJsonScanner, isObject, type Json, type JsonObject, parseLongIds } from '../../kernel/index.ts';
import type { NewBatch, NewBatchItem } from '../../store/ports/index.ts';
import { surfaceErrors } from '../errors.ts';

export const MAX_BATCH_ITEMS = 1000;
/** A file has at most this many lines, blank ones included. */
const MAX_LINES = 2 * MAX_BATCH_ITEMS;
/** A request of a batch may be as large as one that comes alone. */
const ITEM = { maxBytes: 1024 * 1024, maxValues: 20_000, maxDepth: 64 };
const MAX_NAME = 512;
const METADATA = { pairs: 16, name: 64, value: 512 };

/** What a batch may ask for beside plugins by their keys: one kind of object each. */
const SHARED_PATHS = ['/v1/videos', '/v1/images/generations'] as const;
const PLUGIN_PATH = /^\/v1\/tasks\/([^/]+)$/;

export type BatchRequest = Pick<NewBatch, 'endpoint' | 'inputFileId' | 'allOrNone' | 'metadata'> & {
  items: NewBatchItem[];
};

const invalid = (message: string, param: string | null = null) =>
  surfaceErrors.batch_invalid({ message, ...(param === null ? {} : { param }) });

/**
 * Reads the JSON body of `POST /v1/batches`: `{requests}`, or OpenAI's form, whose file `readFile`
 * finds. @throws tasks.batch_invalid, what `readFile` throws
 */
export async function readBatch(value: Json, readFile: (id: string) => Promise<string>): Promise<BatchRequest> {
  if (!isObject(value)) throw invalid('The body must be an object with requests, or with input_file_id.');
  const { requests, input_file_id: fileId, endpoint = null, completion_window: window, ...rest } = value as JsonObject;
  if (window !== undefined && window !== null && window !== '24h')
    throw invalid('completion_window must be "24h".', 'completion_window');
  const shared = { allOrNone: readAllOrNone(rest.all_or_none), metadata: readMetadata(rest.metadata) };
  if ((requests === undefined) === (fileId === undefined))
    throw invalid('Send either requests or input_file_id.', requests === undefined ? 'requests' : 'input_file_id');
  if (endpoint !== null && !SHARED_PATHS.some((path) => path === endpoint))
    throw invalid(`endpoint is one of ${SHARED_PATHS.join(', ')}.`, 'endpoint');
  if (requests !== undefined) {
    if (!Array.isArray(requests)) throw invalid('requests must be a list.', 'requests');
    return { ...readItems(requests, { at: (index) => `requests[${index}]`, endpoint }), ...shared, inputFileId: '' };
  }
  if (typeof fileId !== 'string') throw invalid('input_file_id must be the id of a file.', 'input_file_id');
  if (endpoint === null) throw invalid(`endpoint is required: one of ${SHARED_PATHS.join(', ')}.`, 'endpoint');
  return { ...readBatchLines(await readFile(fileId), endpoint), ...shared, inputFileId: fileId };
}

/** Reads requests as JSON lines. @throws tasks.batch_invalid */
export function readBatchLines(text: string, endpoint: Json = null): Pick<BatchRequest, 'items' | 'endpoint'> {
  const all = text.split('\n', MAX_LINES + 1);
  if (all.length > MAX_LINES) throw invalid(`JSON lines of a batch are at most ${MAX_LINES.toLocaleString('en')}.`);
  const lines = all.flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]));
  const at = (index: number) => `line ${lines[index]?.number ?? index + 1}`;
  if (lines.length > MAX_BATCH_ITEMS) throw tooMany(lines.length);
  const values = lines.map(({ line }, index) => {
    try {
      return parseLongIds(line);
    } catch {
      throw invalid(`The ${at(index)} is not valid JSON.`, at(index));
    }
  });
  return readItems(values, { at, endpoint });
}

/** A batch that comes as JSON lines has no other members. */
export const withBatchDefaults = (lines: Pick<BatchRequest, 'items' | 'endpoint'>): BatchRequest => ({
  ...lines,
  ...{ inputFileId: '', allOrNone: false, metadata: {} },
});

const tooMany = (count: number) =>
  invalid(`A batch has at most ${MAX_BATCH_ITEMS.toLocaleString('en')} requests, and this one ${count}.`);

function readItems(
  values: readonly Json[],
  { at, endpoint }: { at: (index: number) => string; endpoint: Json },
): Pick<BatchRequest, 'items' | 'endpoint'> {
  if (values.length === 0) throw invalid('A batch has at least one request.');
  if (values.length > MAX_BATCH_ITEMS) throw tooMany(values.length);
  const items = values.map((value, position) => readItem(value, { at: at(position), position, endpoint }));
  const names = new Set<string>();
  for (const { customId, position } of items) {
    if (names.has(customId))
      throw invalid(`${at(position)}: custom_id must differ from those before it.`, at(position));
    names.add(customId);
  }
  const [first = ''] = items.map(({ path }) => path);
  return { items, endpoint: items.every(({ path }) => path === first) ? first : '' };
}

function readItem(
  value: Json,
  { at, position, endpoint }: { at: string; position: number; endpoint: Json },
): NewBatchItem {
  if (!isObject(value)) throw invalid(`${at} must be an object.`, at);
  const { plugin, body, method, url, custom_id: name = `request-${position + 1}` } = value as JsonObject;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME)
    throw invalid(`${at}: custom_id must be a string of at most ${MAX_NAME} characters.`, at);
  if (method !== undefined && method !== 'POST') throw invalid(`${at}: method must be POST.`, at);
  if (!isObject(body)) throw invalid(`${at}: body must be an object.`, at);
  const { model } = body as JsonObject;
  if (typeof model !== 'string' || model === '') throw invalid(`${at}: body.model must be a string.`, at);
  const exceeded = createJsonScanner(ITEM).scan(Buffer.from(JSON.stringify(body)));
  if (exceeded === 'maxBytes') throw invalid(`${at}: body is larger than 1 MiB. Name files by their addresses.`, at);
  if (exceeded) {
    const values = ITEM.maxValues.toLocaleString('en');
    throw invalid(`${at}: body has more than ${values} values, ${ITEM.maxDepth} levels or too long names.`, at);
  }
  return { position, customId: name, path: readPath(plugin, url ?? endpoint ?? undefined, { at, endpoint }), body };
}

function readPath(plugin: Json | undefined, url: Json | undefined, item: { at: string; endpoint: Json }): string {
  const { at, endpoint } = item;
  if (plugin !== undefined) {
    if (typeof plugin !== 'string' || !/^[\w.-]{1,100}$/.test(plugin) || endpoint !== null)
      throw invalid(`${at}: plugin must be the key of a plugin, without endpoint or url.`, at);
    return `/v1/tasks/${plugin}`;
  }
  const isKnown = SHARED_PATHS.some((path) => path === url) || (typeof url === 'string' && PLUGIN_PATH.test(url));
  if (typeof url !== 'string' || !isKnown)
    throw invalid(`${at}: name a plugin, or as url one of ${SHARED_PATHS.join(', ')}, /v1/tasks/{plugin}.`, at);
  if (endpoint !== null && url !== endpoint) throw invalid(`${at}: url must be the batch's endpoint, ${endpoint}.`, at);
  return url;
}

function readAllOrNone(value: Json | undefined): boolean {
  if (value !== undefined && value !== null && typeof value !== 'boolean')
    throw invalid('all_or_none must be true or false.', 'all_or_none');
  return value === true;
}

function readMetadata(value: Json | undefined): Record<string, string> {
  if (value === undefined || value === null) return {};
  const fits =
    isObject(value) &&
    Object.keys(value).length <= METADATA.pairs &&
    Object.entries(value).every(
      ([name, text]) => name.length <= METADATA.name && typeof text === 'string' && text.length <= METADATA.value,
    );
  if (fits) return value as Record<string, string>;
  const { pairs, name, value: text } = METADATA;
  throw invalid(`metadata has at most ${pairs} texts of ${text} characters, named by at most ${name}.`, 'metadata');
}

/** The plugin that a path names; undefined for a path that plugins share. */
export const readPlugin = (path: string): string | undefined => PLUGIN_PATH.exec(path)?.[1];
