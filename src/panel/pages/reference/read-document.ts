/**
 * The OpenAPI document that the gateway serves, arranged for readers: what API keys call comes
 * first, then the objects and webhooks, and the routes of the panel last. Everything that is said
 * of an operation is said there.
 */

export type Schema = Readonly<Record<string, unknown>>;

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  description?: string;
  schema?: Schema;
};

type Media = { schema?: Schema };
type Response = { description?: string; content?: Readonly<Record<string, Media>> };

type DocumentOperation = {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { description?: string; content?: Readonly<Record<string, Media>> };
  responses?: Readonly<Record<string, Response>>;
  'x-access'?: string;
  /** The path with its own names, where the document has another operation's too. */
  'x-path'?: string;
  'x-failures'?: Readonly<Record<string, string>>;
};

export type ApiCode = { panel: string; openai: string; status: number; message: string };

export type ApiDocument = {
  info: { version: string };
  tags: { name: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  webhooks: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
  'x-codes': ApiCode[];
};

export type Access = 'public' | 'user' | 'session' | 'admin' | 'root' | 'apiKey' | 'refreshCookie' | 'operator';

/** One operation, or one webhook. */
export type Operation = {
  /** Its anchor in the page. */
  id: string;
  method: string;
  path: string;
  /** Further paths at which it is the same. */
  otherPaths: string[];
  summary: string;
  /** Its summary is in the reader's language, not the document's. */
  isTranslated?: boolean;
  description: string;
  access: Access;
  parameters: Parameter[];
  bodies: { type: string; schema: Schema }[];
  /** How large the body may be. */
  bodyLimit: string;
  responses: { status: string; description: string; bodies: { type: string; schema: Schema }[] }[];
  /** What the schemas above refer to. */
  schemas: Readonly<Record<string, Schema>>;
};

export type Group = { id: string; name: string; operations: Operation[] };
export type ApiObject = { id: string; name: string; schema: Schema };

export type Reference = {
  version: string;
  /** What API keys call. */
  client: Group[];
  webhooks: Operation[];
  /** What vendors call, and what is sent to those who run the gateway. */
  operators: { operations: Operation[]; webhooks: Operation[] };
  /** Schemas that client operations and webhooks name, and those that only the panel's do. */
  objects: { client: ApiObject[]; panel: ApiObject[] };
  codes: ApiCode[];
  panel: Group[];
};

const isForClients = (path: string): boolean => path.startsWith('/v1/') || path === '/mcp';

/** What vendors call. */
const isCallback = (path: string): boolean => path.startsWith('/v1/callbacks/');
/** The tag of webhooks for those who run the gateway. */
const operatorTag = 'For operators';

export function readDocument(document: ApiDocument): Reference {
  const { schemas } = document.components;
  const client = new Map<string, Operation[]>(document.tags.map(({ name }) => [name, []]));
  const callbacks = new Map<string, Operation[]>();
  const panel = new Map<string, Operation[]>();
  for (const [path, operations] of Object.entries(document.paths)) {
    const groups = isCallback(path) ? callbacks : isForClients(path) ? client : panel;
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? '';
      const group = groups.get(tag) ?? [];
      groups.set(tag, group);
      const read = readOperation({ method: method.toUpperCase(), path, operation, schemas });
      const same = group.find((other) => other.method === read.method && other.summary === read.summary);
      if (same === undefined) group.push(read);
      else same.otherPaths.push(path);
    }
  }
  const readWebhooks = (isForOperators: boolean) =>
    Object.entries(document.webhooks).flatMap(([event, operations]) =>
      Object.values(operations)
        .filter(({ tags }) => (tags?.[0] === operatorTag) === isForOperators)
        .map((operation) => ({
          ...readOperation({ method: '', path: event, operation, schemas }),
          id: `webhook-${event}`,
        })),
    );
  const webhooks = readWebhooks(false);
  const named = findSchemas(
    [...[...client.values()].flat(), ...webhooks].map(({ schemas: _, ...own }) => own),
    schemas,
  );
  const objects = Object.entries(schemas).map(([name, schema]) => ({
    ...{ id: `object-${name}`, name, schema },
  }));
  return {
    version: document.info.version,
    client: toGroups(client, 'v1'),
    webhooks,
    operators: { operations: [...callbacks.values()].flat(), webhooks: readWebhooks(true) },
    objects: {
      client: objects.filter(({ name }) => named.has(name) && !internalNames.has(name)),
      panel: objects.filter(({ name }) => !named.has(name) || internalNames.has(name)),
    },
    codes: document['x-codes'],
    panel: toGroups(panel, 'panel'),
  };
}

const toGroups = (groups: ReadonlyMap<string, Operation[]>, prefix: string): Group[] =>
  [...groups]
    .filter(([, operations]) => operations.length > 0)
    .map(([name, operations]) => ({
      id: `${prefix}-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`,
      ...{ name, operations: inOrder(operations) },
    }));

/** Sorts by `toStep` within each collection; collections keep the document's order. */
function inOrder(operations: readonly Operation[]): Operation[] {
  const collections = [...new Set(operations.map(readCollection))];
  const rank = (operation: Operation): number =>
    collections.indexOf(readCollection(operation)) * 10 + toStep(operation);
  return operations.toSorted((a, b) => rank(a) - rank(b));
}

/** The path before the id: `/v1/batches` of `/v1/batches/{batch_id}/cancel`. */
const readCollection = ({ path }: Operation): string => path.split('/{')[0] ?? path;

/** The order: create, list, read, change, act on it, read its parts, delete them, delete it. */
function toStep({ method, path }: Operation): number {
  const [isOfOne, isPart] = [path.includes('{'), !path.endsWith('}')];
  if (method === 'POST') return isOfOne && isPart ? 4 : 0;
  if (method === 'DELETE') return isPart ? 6 : 7;
  if (method === 'PUT' || method === 'PATCH') return 3;
  return isOfOne ? (isPart ? 5 : 2) : 1;
}

type Described = Pick<Operation, 'method' | 'path' | 'schemas'> & { operation: DocumentOperation };

function readOperation({ method, path: named, operation, schemas }: Described): Operation {
  const access = operation['x-access'] ?? 'public';
  const path = operation['x-path'] ?? named;
  const names = new Map(readNames(named).map((name, at) => [name, readNames(path)[at] ?? name]));
  return {
    id: operation.operationId ?? `${method}-${path}`,
    ...{ method, path, otherPaths: [], schemas },
    summary: operation.summary ?? '',
    description: operation.description ?? '',
    access: access === 'apiKeyOrCapability' ? 'apiKey' : (access as Access),
    parameters: (operation.parameters ?? []).map((parameter) =>
      parameter.in === 'path' ? { ...parameter, name: names.get(parameter.name) ?? parameter.name } : parameter,
    ),
    bodies: readContent(operation.requestBody),
    bodyLimit: operation.requestBody?.description ?? '',
    responses: Object.entries({ ...describeOnly(operation['x-failures']), ...operation.responses })
      .filter(([status]) => status !== 'default')
      .map(([status, response]) => ({
        ...{ status, description: response.description ?? '', bodies: readContent(response) },
      })),
  };
}

/** The names in `/v1/batches/{batch_id}/cancel`. */
const readNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `${name}`);

const describeOnly = (failures: Readonly<Record<string, string>> = {}): Record<string, Response> =>
  Object.fromEntries(Object.entries(failures).map(([status, description]) => [status, { description }]));

const readContent = (holder: { content?: Readonly<Record<string, Media>> } | undefined) =>
  Object.entries(holder?.content ?? {}).map(([type, { schema = {} }]) => ({ type, schema }));

/** The names of all schemas that a value refers to, through other schemas too. */
function findSchemas(value: unknown, schemas: Readonly<Record<string, Schema>>): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const { $ref: reference } = part as { $ref?: unknown };
    const name = typeof reference === 'string' ? readName(reference) : undefined;
    if (name !== undefined && !found.has(name)) {
      found.add(name);
      visit(schemas[name]);
    }
    for (const member of Object.values(part)) visit(member);
  };
  visit(value);
  return found;
}

/** Schemas whose names say something to programs of the panel only. */
export const internalNames: ReadonlySet<string> = new Set(['Sentence', 'StoredSentence']);

/** The name in `#/components/schemas/NAME`. */
export const readName = (reference: string): string => reference.split('/').at(-1) ?? '';

/** Whether a text has all words of a search. */
export function hasWords(text: string, search: string): boolean {
  const lower = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** The text of an operation in which a search looks for words. */
export const operationText = ({ id, method, path, otherPaths, summary, description }: Operation): string =>
  [id, method, path, ...otherPaths, summary, description].join(' ');

/** The sentence of a description that has a searched word which the line above it does not show. */
export function findSentence({ method, path, summary, description }: Operation, search: string): string | undefined {
  const hidden = search.split(/\s+/).find((word) => !hasWords(`${method} ${path} ${summary}`, word));
  if (hidden === undefined) return undefined;
  const sentence = description.split(/(?<=\.)\s+/).find((each) => hasWords(each, hidden));
  const from = sentence?.lastIndexOf(' ', sentence.toLowerCase().indexOf(hidden.toLowerCase()) - lettersBefore) ?? 0;
  return from > 0 ? `…${sentence?.slice(from)}` : sentence;
}

/** About how much is shown before the found word: what is too long is cut at its end. */
const lettersBefore = 30;

/**
 * A value that fits the schema, from its examples; of objects required and example members. Without
 * `schemas`, what is in a schema of its own is an empty object.
 */
export function makeExample(schema: unknown, schemas: Readonly<Record<string, Schema>> = {}): unknown {
  if (!isSchema(schema)) return {};
  if (typeof schema.$ref === 'string') {
    const { [readName(schema.$ref)]: named, ...others } = schemas;
    // No schema is within itself.
    return makeExample(named, others);
  }
  const [example] = toList(schema.examples);
  if (example !== undefined) return example;
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.anyOf)) {
    const isNullable = schema.anyOf.some((option) => isSchema(option) && option.type === 'null');
    return isNullable ? null : makeExample(schema.anyOf[0], schemas);
  }
  if (isSchema(schema.properties)) {
    const required = toList(schema.required);
    return Object.fromEntries(
      Object.entries(schema.properties)
        .filter(([name, member]) => required.includes(name) || (isSchema(member) && 'examples' in member))
        .map(([name, member]) => [name, makeExample(member, schemas)]),
    );
  }
  if (toList(schema.type).includes('null')) return null;
  const [type] = typeof schema.type === 'string' ? [schema.type] : toList(schema.type);
  if (type === 'array') return [];
  if (type === 'boolean') return true;
  return type === 'integer' || type === 'number' ? 1 : type === 'object' ? {} : 'text';
}

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
