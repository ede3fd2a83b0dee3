import { createJsonScanner, type Json, type JsonObject, parseJson } from '../../kernel/index.ts';
import type { RelayKind, RelayPartKind } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { modelOf } from '../submission/submit-surfaces.ts';
import type { ClientRequest } from '../types.ts';
import { readReferences, referencesObject } from './read-references.ts';

/** What the gateway itself reads of a request that it passes on. */
export type RelayIntent = {
  kind: RelayKind;
  model: string;
  /** The client asked for server-sent events. */
  stream: boolean;
  /** What a price may ask for by `u()`. */
  facts: JsonObject;
  /** What the request builds on; each must be the caller's own. */
  references: Reference[];
};

/** `param`: the member of the body in which it is named. */
export type Reference = { param: string; kind: RelayKind | RelayPartKind; objectId: string };

/** The usage facts of relayed requests, by the names of OpenAI's own parameters. */
const FACTS = ['seconds', 'n'] as const;
/** What clients write for a quantity, as a number or, as OpenAI's videos want it, as text. */
const QUANTITY = /^\d{1,9}(\.\d{1,6})?$/;
const MAX_QUANTITY = 999_999_999;

/** Bounds of JSON that a form holds as a text; its bytes are bounded with those of all texts. */
const FORM_JSON = { maxBytes: Number.POSITIVE_INFINITY, maxValues: 20_000, maxDepth: 64 };

type Multipart = Extract<ClientRequest['body'], { kind: 'multipart' }>;

/**
 * @throws tasks.body_required, tasks.unsupported_media, tasks.model_required,
 * tasks.relay_request_invalid where the request names what the channel's account keeps and nobody
 * can tell whose it is, and where a quantity is below 1
 */
export function readRelayRequest(kind: RelayKind, request: ClientRequest): RelayIntent {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind === 'form' || (kind === 'response' && body.kind !== 'json')) throw taskErrors.unsupported_media();
  const model = modelOf(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  const values = body.kind === 'json' ? (body.value as JsonObject) : formValues(body);
  return {
    kind,
    model,
    stream: kind === 'response' && values.stream === true,
    facts: Object.fromEntries(FACTS.flatMap((name) => quantity(name, values[name]))),
    references: readReferences(kind, values),
  };
}

/**
 * Fields that are read here or make a video of another, and so must be there once; `video` may be a
 * file.
 */
const SINGLE = ['model', ...FACTS, 'remix_video_id', 'video_id', 'video'];

/**
 * A part that comes twice could mean one thing here and another at the vendor; so could a file
 * under the name of a field, and `video[id]`, which forms write for a member.
 */
function formValues({ fields, files }: Multipart): JsonObject {
  for (const name of [...Object.keys(fields), ...files.map(({ field }) => field)]) {
    const [first = '', ...members] = name.split(/[[\]]+/);
    if (members.length > 0 && (SINGLE.includes(first) || [first, ...members].some(namesVideoObject))) {
      throw taskErrors.relay_request_invalid({ message: 'Send this member in a JSON body.', param: name });
    }
  }
  for (const name of SINGLE) {
    const isFile = files.some(({ field }) => field === name) && name !== 'video';
    if ((fields[name]?.length ?? 0) > 1 || isFile) {
      throw taskErrors.relay_request_invalid({ message: `The form must have ${name} once, as a text.`, param: name });
    }
  }
  return Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, formValue(name, values)]));
}

const namesVideoObject = (name: string): boolean => referencesObject('video', name);

/**
 * Text that is JSON could be read as such by the vendor; a prompt is text whatever it looks like.
 */
function formValue(name: string, values: readonly string[]): Json {
  const read = values.map((value) => {
    if (name === 'prompt' || !/^\s*[[{]/.test(value)) return value;
    if (createJsonScanner(FORM_JSON).scan(Buffer.from(value))) {
      const { maxValues, maxDepth } = FORM_JSON;
      const message = `The JSON in ${name} may have at most ${maxValues} values and ${maxDepth} levels.`;
      throw taskErrors.relay_request_invalid({ message, param: name });
    }
    return parseJson(value) ?? value;
  });
  return read.length === 1 ? (read[0] ?? '') : read;
}

/**
 * A quantity as a usage fact. One below 1 would be priced at nothing while the vendor makes its
 * least: it is refused. What is absent, or written in a way that the vendor may read otherwise, is
 * no fact: a price that reads it refuses.
 */
function quantity(name: (typeof FACTS)[number], value: Json | undefined): [string, number][] {
  if (typeof value !== 'number' && (typeof value !== 'string' || !QUANTITY.test(value))) return [];
  const amount = Number(value);
  const isWhole = name !== 'n' || Number.isInteger(amount);
  if (amount >= 1 && amount <= MAX_QUANTITY && isWhole) return [[name, amount]];
  const kind = name === 'n' ? 'a whole number' : 'a number';
  const message = `"${name}" must be ${kind} from 1 to ${MAX_QUANTITY}. Leave it out for the vendor's default.`;
  throw taskErrors.relay_request_invalid({ message, param: name });
}
