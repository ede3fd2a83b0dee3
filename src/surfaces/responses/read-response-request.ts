import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { ResponsesMode } from '../../plugins/index.ts';
import { readFlag } from '../../relay/index.ts';
import type { TaskExecution } from '../../store/ports/index.ts';
import { type ClientRequest, type DecodedRequest, readModel, taskErrors } from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';
import { refusal, refuseDroppedImages } from '../refuse-dropped-images.ts';

export type ResponseForm = { stream: boolean; background: boolean };
export type ResponseRequest = {
  model: string;
  form: ResponseForm;
  /** The request as plugins see it: without `background`, which the gateway handles. */
  request: ClientRequest;
};

/**
 * Reads the parts of `POST /v1/responses` that the gateway handles.
 * @throws tasks.body_required, tasks.unsupported_media, tasks.model_required,
 * tasks.response_form_invalid
 */
export function readResponseRequest(request: ClientRequest): ResponseRequest {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
  const model = readModel(request);
  if (model === undefined || !isObject(body.value)) throw taskErrors.model_required({ param: 'model' });
  const { background: _, ...visible } = body.value as JsonObject;
  return {
    model,
    form: {
      stream: readFlag(body.value, 'stream', surfaceErrors.response_form_invalid),
      background: readFlag(body.value, 'background', surfaceErrors.response_form_invalid),
    },
    request: { ...request, body: { ...body, value: visible } },
  };
}

const DESCRIPTIONS: Record<ResponsesMode, string> = {
  sync: 'waiting for the answer (neither "stream" nor "background")',
  stream: 'streaming ("stream": true)',
  background: 'the background ("background": true, then GET /v1/responses/<id>)',
};

/** The mode that a form needs and a claim lacks. Streaming in the background needs both modes. */
export function missingMode(
  supports: readonly ResponsesMode[],
  { stream, background }: ResponseForm,
): ResponsesMode | undefined {
  const needed: ResponsesMode[] = [];
  if (stream) needed.push('stream');
  if (background) needed.push('background');
  if (needed.length === 0) needed.push('sync');
  return needed.find((mode) => !supports.includes(mode));
}

/**
 * Checks that the plugin's claim supports this form.
 * @throws tasks.response_form_unsupported naming the supported forms
 */
export function assertFormSupported(supports: readonly ResponsesMode[], form: ResponseForm, model: string): void {
  const missing = missingMode(supports, form);
  if (missing === undefined) return;
  const supported = supports.map((mode) => DESCRIPTIONS[mode]);
  throw surfaceErrors.response_form_unsupported({
    message: `The model "${model.slice(0, 120)}" does not take ${DESCRIPTIONS[missing]}. It takes: ${supported.join('; ')}.`,
    ...(missing === 'sync' ? {} : { param: missing }),
  });
}

/** OpenAI's limits of metadata. */
export const MAX_METADATA = 16;
const MAX_METADATA_KEY = 64;
const MAX_METADATA_VALUE = 512;
/** Longer values are not stored with the task, whose row is always read in full. */
const MAX_USER = 256;
const MAX_TEXT = 32 * 1024;

type ClientFields = NonNullable<TaskExecution['response']>;

/** What the client said of a response beside its task: its object repeats it, and input items. */
export function responseFields({ body }: Pick<ClientRequest, 'body'>): Pick<TaskExecution, 'response'> {
  if (body.kind !== 'json' || !isObject(body.value)) return {};
  const { metadata, instructions, user, input } = body.value as JsonObject;
  // Files were taken out of the body; tokens stand for them.
  const isKept = input !== undefined && !body.extracted && JSON.stringify(input).length <= MAX_TEXT;
  const response: ClientFields = {
    ...(isObject(metadata) ? { metadata: validMetadata(metadata as JsonObject, MAX_METADATA) } : {}),
    ...(isText(instructions, MAX_TEXT) ? { instructions } : {}),
    ...(isText(user, MAX_USER) ? { user } : {}),
    ...(isKept ? { input } : {}),
  };
  return Object.keys(response).length === 0 ? {} : { response };
}

const isText = (value: Json | undefined, max: number): value is string =>
  typeof value === 'string' && value.length <= max;

/** At most `limit` entries within OpenAI's limits, the first by name; others are left out. */
export function validMetadata(given: JsonObject, limit: number): Record<string, string> {
  const entries = Object.entries(given).filter(
    (entry): entry is [string, string] => entry[0].length <= MAX_METADATA_KEY && isText(entry[1], MAX_METADATA_VALUE),
  );
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.slice(0, limit));
}

/** Parts that a prompt is made of, or that earlier answers leave in a conversation. */
const TEXTS: ReadonlySet<Json> = new Set(['input_text', 'output_text', 'refusal', 'summary_text']);
const IMAGE = 'input_image';
const PARAM = 'input';

/**
 * Refuses what a plugin leaves out of the input of a response. Those that ship take texts and
 * images.
 * @throws tasks.plugin_request_invalid
 */
export function refuseDroppedParts({ body }: ClientRequest): (decoded: DecodedRequest) => void {
  const parts = body.kind === 'json' && isObject(body.value) ? listParts(body.value.input ?? null) : [];
  const other = parts.find(({ type }) => type !== IMAGE);
  const images = parts.flatMap((part) =>
    part.type === IMAGE || (part.file_id ?? null) !== null ? [{ image: part, param: PARAM }] : [],
  );
  return (decoded) => {
    refuseDroppedImages(decoded, images);
    if (!other || decoded.plugin.layer !== 'factory') return;
    const type = JSON.stringify(String(other.type).slice(0, 60));
    throw refusal(`The input has a part that this model does not take: ${type}.`, PARAM);
  };
}

/** The parts that are not texts: in the contents of the input's items, and among the items. */
function listParts(input: Json): JsonObject[] {
  const items = (Array.isArray(input) ? input : []).filter((item): item is JsonObject => isObject(item));
  const inner = items.flatMap(({ content = null }) => (Array.isArray(content) ? content : []));
  const parts = inner.filter((part): part is JsonObject => isObject(part) && !TEXTS.has(part.type ?? null));
  return [...parts, ...items.filter(({ type }) => type === IMAGE || type === 'input_file')];
}
