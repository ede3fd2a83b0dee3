import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { RelayKind } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { modelOf } from '../submit-surfaces.ts';
import type { ClientRequest } from '../types.ts';

/** What the gateway itself reads of a request that it passes on. */
export type RelayIntent = {
  kind: RelayKind;
  model: string;
  /** The client asked for server-sent events. */
  stream: boolean;
  /** What a price may ask for by `u()`. */
  facts: JsonObject;
  /** The objects of the vendor on which the request builds; each must be the caller's own. */
  references: Reference[];
};

type Reference = { param: string; objectId: string };

/** The usage facts of relayed requests, by the names of OpenAI's own parameters. */
const FACTS = ['seconds', 'n'] as const;
/** What clients write for a quantity, as a number or, as OpenAI's videos want it, as text. */
const QUANTITY = /^\d{1,9}(\.\d{1,6})?$/;

/** Parameters that name an earlier object, as its id or as an object that has one. */
const REFERENCES: Record<RelayKind, readonly string[]> = {
  response: ['previous_response_id'],
  video: ['remix_video_id', 'video_id', 'video'],
};

/**
 * Channels are one account of the vendor's for all users, so a request must not reach what somebody else's request has made there: of
 * conversations, stored items and containers nobody can tell whose they are, and they are refused by name.
 * @throws tasks.body_required, tasks.unsupported_media, tasks.model_required, tasks.relay_request_invalid
 */
export function readRelayRequest(kind: RelayKind, request: ClientRequest): RelayIntent {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind === 'form' || (kind === 'response' && body.kind !== 'json')) throw taskErrors.unsupported_media();
  const model = modelOf(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  const values = body.kind === 'json' ? (body.value as JsonObject) : singleValues(kind, body);
  if (kind === 'response') refuseSharedState(values);
  return {
    kind,
    model,
    stream: kind === 'response' && values.stream === true,
    facts: Object.fromEntries(FACTS.flatMap((name) => quantity(name, values[name]))),
    references: REFERENCES[kind].flatMap((param) => referenceOf(param, values[param])),
  };
}

/**
 * A part that comes twice could mean one thing here and another at the vendor; so could a file under the name of a field, and `video[id]`, which
 * forms write for a member.
 */
function singleValues(
  kind: RelayKind,
  { fields, files }: Extract<ClientRequest['body'], { kind: 'multipart' }>,
): JsonObject {
  const names = ['model', ...FACTS, ...REFERENCES[kind]];
  const member = [...Object.keys(fields), ...files.map(({ field }) => field)].find((field) =>
    names.some((name) => field.startsWith(`${name}[`)),
  );
  if (member !== undefined) {
    throw taskErrors.relay_request_invalid({ message: 'Send this member in a JSON body.', param: member });
  }
  for (const name of names) {
    const isFile = files.some(({ field }) => field === name) && name !== 'video';
    if ((fields[name]?.length ?? 0) > 1 || isFile) {
      throw taskErrors.relay_request_invalid({ message: `The form must have ${name} once, as a text.`, param: name });
    }
  }
  return Object.fromEntries(names.flatMap((name) => (fields[name] ? [[name, fields[name][0] ?? '']] : [])));
}

function quantity(name: string, value: Json | undefined): [string, number][] {
  if (typeof value === 'number' ? value < 0 : typeof value !== 'string' || !QUANTITY.test(value)) return [];
  return [[name, Number(value)]];
}

function referenceOf(param: string, value: Json | undefined): Reference[] {
  const id = isObject(value) ? value.id : value;
  // A `video` that is a text is an address or the video itself.
  if (typeof id !== 'string' || (param === 'video' && !isObject(value))) return [];
  return [{ param, objectId: id }];
}

function refuseSharedState({ conversation, input, tools }: JsonObject): void {
  const refuse = (param: string, what: string) =>
    taskErrors.relay_request_invalid({
      message: `${what} belong to the vendor's account and not to one user, so they cannot be named here.`,
      param,
    });
  if (conversation !== undefined && conversation !== null) throw refuse('conversation', 'Conversations');
  if (Array.isArray(input) && input.some(isItemReference)) {
    throw refuse('input', 'Stored items (send the item itself, or previous_response_id): they');
  }
  const namesContainer = (tool: Json) => isObject(tool) && typeof tool.container === 'string';
  if (Array.isArray(tools) && tools.some(namesContainer)) throw refuse('tools', 'Containers');
}

/** Its `type` may be left out: then only the id is there. An image without its data stands for the stored one. */
const isItemReference = (item: Json): boolean =>
  isObject(item) &&
  (item.type === 'item_reference' ||
    (item.type === 'image_generation_call' && typeof item.result !== 'string') ||
    ((item.type ?? null) === null && item.content === undefined && 'id' in item));
