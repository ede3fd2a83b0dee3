import {
  countCharacters,
  countNames,
  createJsonScanner,
  editJson,
  isObject,
  type Json,
  type JsonObject,
  MAX_JSON_NAME_BYTES,
  parseJson,
  readJsonMembers,
} from '../../kernel/index.ts';
import type { ChannelRecord, RelayKind } from '../../store/ports/index.ts';
import { type ClientRequest, readModel, taskErrors } from '../../tasks/index.ts';
import { fileToken, findFiles } from '../../vendors/index.ts';
import { ENDPOINTS, mayBeFollowed } from '../endpoints.ts';
import { relayErrors } from '../errors.ts';
import type { RelayedRequest, RelayIntent } from '../types.ts';
import { writeJson } from './build-relay-request.ts';
import { readReferences, referencesObject } from './read-references.ts';
import {
  checkMembers,
  findChoice,
  listNames,
  namesDuration,
  normalizeMemberName,
  readQuantities,
} from './request-members.ts';

/** Limits of JSON in a form field. Its size is already limited with that of all fields. */
const FORM_JSON = { maxBytes: Number.POSITIVE_INFINITY, maxValues: 20_000, maxDepth: 64 };

type Multipart = Extract<ClientRequest['body'], { kind: 'multipart' }>;

/**
 * Reads model, quantities and references from a request.
 * @throws tasks.body_required, tasks.unsupported_media, tasks.model_required, and
 * tasks.relay_request_invalid when the request names an object in the vendor's account whose owner
 * is unknown, or has a member that the vendor could read differently
 */
export function readRelayRequest({ kind, client: request, remix, follow }: RelayedRequest): RelayIntent {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  const { bodies, streams, asksForUsage } = ENDPOINTS[kind];
  if (body.kind === 'form' || !bodies.includes(body.kind)) throw taskErrors.unsupported_media();
  const isForm = body.kind === 'multipart';
  const values = isForm ? formValues(kind, body) : (body.value as JsonObject);
  const model = remix?.model ?? readModel(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  if (!isForm) refuseRepeatedNames(writeJson(body), values);
  checkMembers({ kind, values, isForm });
  const isSet = (name: string): boolean => values[name] === true || (isForm && values[name] === 'true');
  const isFollowed = mayBeFollowed(kind) && follow !== undefined && (follow.isPreferred || isSet('background'));
  const stream = !isFollowed && (streams === 'bytes' || (streams === 'events' && isSet('stream')));
  // OpenAI's `background` of an image is a text, which says what is behind a picture.
  const isFlag = isSet('background') || values.background === false || (isForm && values.background === 'false');
  return {
    kind,
    model,
    stream,
    values,
    hidesUsage: stream && asksForUsage === true && !asksItself(values),
    facts: {
      ...remix?.facts,
      ...readQuantities({ kind, values }),
      ...(kind === 'speech' && typeof values.input === 'string'
        ? { characters: Math.max(...listSpoken(values).map((text) => countSpoken(text, body))) }
        : {}),
    },
    references: [
      ...readReferences(kind, values),
      ...(remix ? [{ param: 'video_id', kind: 'video' as const, objectId: remix.id }] : []),
    ],
    isFollowed,
    ownMembers: [
      ...(mayBeFollowed(kind) && isFlag ? ['background'] : []),
      ...(isFollowed ? ['stream', 'partial_images'] : []),
    ],
  };
}

/** What vendors call the text that is spoken, beside `input`. */
const SPOKEN: ReadonlySet<string> = new Set(['input', 'text', 'ssml', 'prompt', 'content', 'script']);

/** The texts of which the vendor may speak one; a list of them is one text. */
const listSpoken = (values: JsonObject): string[] =>
  Object.entries(values).flatMap(([name, value]) =>
    SPOKEN.has(normalizeMemberName(name)) && value !== null && value !== undefined
      ? [typeof value === 'string' ? value : JSON.stringify(value)]
      : [],
  );

/** Counts what was extracted from the text, for which tokens stand in it. */
function countSpoken(text: string, body: ClientRequest['body']): number {
  const length = countCharacters(text);
  if (body.kind !== 'json' || !body.extracted) return length;
  const tokenLength = fileToken(body.extracted.prefix, 0).length;
  return findFiles(text, body.extracted).reduce((sum, { size }) => sum + size - tokenLength, length);
}

/**
 * A request with the channel's own fields where its JSON body lacks them. They count for its limits
 * and its price as if the client had written them.
 */
export function addDefaults<T extends { request: RelayedRequest; intent: RelayIntent }>(
  creation: T,
  { bodyDefaults }: Pick<ChannelRecord, 'bodyDefaults'>,
): T {
  const { client } = creation.request;
  const { body } = client;
  if (bodyDefaults === null || body.kind !== 'json' || !isObject(body.value)) return creation;
  const given = body.value as JsonObject;
  const missing = Object.fromEntries(Object.entries(bodyDefaults).filter(([name]) => !Object.hasOwn(given, name)));
  if (Object.keys(missing).length === 0) return creation;
  const text = editJson(writeJson(body), missing);
  const request = {
    ...creation.request,
    client: { ...client, body: { ...body, value: { ...given, ...missing }, text } },
  };
  return { ...creation, request, intent: readRelayRequest(request) };
}

/**
 * A vendor's parser may take the first member of a name where the gateway's takes the last: another
 * model, or another user's object. RFC 8259 leaves it open.
 * @throws tasks.relay_request_invalid
 */
function refuseRepeatedNames(text: string, value: Json, param?: string): void {
  const { members, names } = readJsonMembers(text);
  if (names === countNames(value)) return;
  const seen = new Set<string>();
  const isRepeated = (name: string): boolean => seen.size === seen.add(name).size;
  const repeated = isObject(value) ? members.find(({ name }) => isRepeated(name))?.name : undefined;
  const message =
    repeated === undefined
      ? 'An object in the JSON names a member twice: name each member once.'
      : `The JSON names ${JSON.stringify(repeated.slice(0, 60))} twice: name each member once.`;
  throw relayErrors.relay_request_invalid({ message, ...((param ?? repeated) ? { param: param ?? repeated } : {}) });
}

const asksItself = ({ stream_options: options }: JsonObject): boolean =>
  isObject(options) && options.include_usage === true;

/**
 * Form fields that may occur only once: the gateway reads them, or they name another video. `video`
 * may be a file.
 */
const VIDEOS = ['remix_video_id', 'video_id', 'video'];

/**
 * The form as JSON values. Refuses what the vendor could read differently: a repeated field, a file
 * under the name of a field, and a member written as `video[id]`.
 */
function formValues(kind: RelayKind, { fields, files }: Multipart): JsonObject {
  const single = [...listNames(kind), ...VIDEOS];
  for (const name of [...Object.keys(fields), ...files.map(({ field }) => field)]) {
    const [first = '', ...members] = name.split(/[[\]]+/);
    if (members.length > 0 && (single.includes(first) || [first, ...members].some(namesVideoObject))) {
      throw relayErrors.relay_request_invalid({ message: 'Send this member in a JSON body.', param: name });
    }
  }
  for (const name of single) {
    // Many servers take a file without a name for a text.
    const isFile = files.some(
      ({ field, filename }) => normalizeMemberName(field) === name && (name !== 'video' || filename === ''),
    );
    if ((fields[name]?.length ?? 0) > 1 || isFile) throw mustComeOnce(name);
  }
  const text = files.find(({ field }) => namesDuration(kind, field) || findChoice(kind, field) !== undefined);
  if (text) throw mustComeOnce(text.field);
  return Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, formValue(name, values)]));
}

const mustComeOnce = (param: string) =>
  relayErrors.relay_request_invalid({ message: `The form must have ${param} once, as a string.`, param });

const namesVideoObject = (name: string): boolean => referencesObject('video', name);

/** Parses text that the vendor could read as JSON. A prompt is always text. */
function formValue(name: string, values: readonly string[]): Json {
  const read = values.map((value) => {
    if (name === 'prompt' || !/^\s*[[{]/.test(value)) return value;
    if (createJsonScanner(FORM_JSON).scan(Buffer.from(value))) {
      const { maxValues, maxDepth } = FORM_JSON;
      const message = `The JSON in ${name} may have at most ${maxValues} values, ${maxDepth} levels and ${MAX_JSON_NAME_BYTES / 1024} KiB of member names.`;
      throw relayErrors.relay_request_invalid({ message, param: name });
    }
    const parsed = parseJson(value);
    if (parsed !== undefined) refuseRepeatedNames(value, parsed, name);
    return parsed ?? value;
  });
  return read.length === 1 ? (read[0] ?? '') : read;
}
