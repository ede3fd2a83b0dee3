import Ajv from 'ajv/dist/2020.js';

type Schema = { content?: Record<string, { schema?: object }> };
type Document = {
  paths: Record<string, Record<string, { responses?: Record<string, Schema & { $ref?: string }> }>>;
  components: { responses: Record<string, Schema> };
};
type Received = { method: string; url: string; status: number; body: unknown };

/** Answers of more bytes are not checked: a test reads them as a stream. */
const MAX_BYTES = 1024 * 1024;

const send = globalThis.fetch;
const gateways = new Set<string>();
/** All gateways are the same program: the document of the first one serves for all. */
let checker: Promise<Check | undefined> = Promise.resolve(undefined);
type Check = (received: Received) => void;

/**
 * From now on `fetch` rejects when an answer in JSON of the gateway at `origin` is not as its
 * OpenAPI document says: a status that the operation does not name, or a body outside its schema.
 */
export function holdToDocument(origin: string): void {
  // Benches measure; a copy of each answer would cost them.
  if (process.env.NODE_ENV !== 'test') return;
  gateways.add(origin);
  if (globalThis.fetch !== send) return;
  const checked = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const response = await send(...request);
    await assertDocumented(describeRequest(...request), response);
    return response;
  };
  globalThis.fetch = Object.assign(checked, send);
}

type Sent = { method: string; url: string };

/** Without its body, which is read once. */
function describeRequest(input: string | URL | Request, init?: RequestInit): Sent {
  if (input instanceof Request) return { method: init?.method ?? input.method, url: input.url };
  return { method: init?.method ?? 'GET', url: String(input) };
}

async function assertDocumented({ method, url }: Sent, response: Response): Promise<void> {
  const { origin } = new URL(url);
  const length = Number(response.headers.get('content-length') ?? 0);
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  if (!gateways.has(origin) || !isJson || length === 0 || length > MAX_BYTES || method === 'HEAD') return;
  checker = checker.then((check) => check ?? openChecker(origin));
  const check = await checker;
  check?.({ method, url, status: response.status, body: await response.clone().json() });
}

/** Undefined when the gateway does not answer: a test of limits, or of one that is stopping. */
async function openChecker(origin: string): Promise<Check | undefined> {
  const response = await send(`${origin}/api/openapi.json`).catch(() => undefined);
  if (!response?.ok) return undefined;
  const document = (await response.json()) as Document;
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'api');
  const routes = Object.entries(document.paths).map(([path, operations]) => ({
    path,
    operations,
    matches: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^{}]+\}/g, '[^/]+')}$`),
    parameters: path.split('{').length,
  }));
  // A literal segment goes before a parameter.
  routes.sort((a, b) => a.parameters - b.parameters);

  return ({ method, url, status, body }) => {
    const { pathname } = new URL(url);
    const verb = method.toLowerCase();
    const found = routes.find(({ matches, operations }) => matches.test(pathname) && operations[verb]);
    // Plugins' own routes and unknown addresses are not in the document.
    const responses = found?.operations[verb]?.responses;
    if (!found || !responses) return;
    const chosen = String(status) in responses ? String(status) : 'default';
    if (status < 400 && chosen === 'default') throw new Error(`${method} ${found.path}: ${status} is not documented`);
    const isShared = chosen === 'default' || responses[chosen]?.content === undefined;
    // A vendor's error passes as it is; with a type, it is the gateway's or has its form.
    const hasType = (body as { error?: { type?: unknown } } | null)?.error?.type !== undefined;
    const named = responses.default?.$ref?.slice('#/components/responses/'.length) ?? '';
    const failure = named === 'RelayedFailure' && hasType ? 'OpenAiFailure' : named;
    const schema = isShared
      ? document.components.responses[failure]?.content?.['application/json']?.schema
      : responses[chosen]?.content?.['application/json']?.schema;
    if (!schema || (isShared && status < 400)) return;
    const pointer = isShared
      ? `/components/responses/${failure}/content/application~1json/schema`
      : `/paths/${escapePointer(found.path)}/${verb}/responses/${chosen}/content/application~1json/schema`;
    const validate = ajv.getSchema(`api#${pointer}`);
    if (!validate) throw new Error(`no schema at ${pointer}`);
    if (!validate(body)) {
      const faults = ajv.errorsText(validate.errors);
      throw new Error(
        `${method} ${found.path} answered ${status} outside its schema: ${faults}\n${JSON.stringify(body)}`,
      );
    }
  };
}

const escapePointer = (path: string): string => encodeURI(path.replaceAll('~', '~0').replaceAll('/', '~1'));
