import Ajv from 'ajv/dist/2020.js';

type Schema = { content?: Record<string, { schema?: object }> };
type Document = {
  paths: Record<string, Record<string, { responses?: Record<string, Schema & { $ref?: string }> }>>;
  components: { responses: Record<string, Schema> };
};
type Received = { method: string; url: string; status: number; body: unknown };

const documents = new Map<string, Promise<(received: Received) => void>>();

/**
 * Throws when an answer of `/v1` is not as the gateway's own OpenAPI document says: a path or a
 * status that it does not know, or a body outside its schema. Each gateway's document is read once.
 */
export async function assertDocumented(received: Received): Promise<void> {
  const { origin, pathname } = new URL(received.url);
  if (!pathname.startsWith('/v1/')) return;
  let check = documents.get(origin);
  if (!check) {
    check = openChecker(origin);
    documents.set(origin, check);
  }
  (await check)(received);
}

async function openChecker(origin: string): Promise<(received: Received) => void> {
  const response = await fetch(`${origin}/api/openapi.json`).catch(() => undefined);
  // A test of limits, or of a gateway that is stopping.
  if (!response?.ok) return () => {};
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
    const schema = isShared
      ? document.components.responses.OpenAiFailure?.content?.['application/json']?.schema
      : responses[chosen]?.content?.['application/json']?.schema;
    if (!schema || (isShared && status < 400)) return;
    const pointer = isShared
      ? '/components/responses/OpenAiFailure/content/application~1json/schema'
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
