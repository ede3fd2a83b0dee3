import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { ClientRequest, DecodedRequest } from '../../tasks/index.ts';
import { refusal, refuseDroppedImages } from '../refuse-dropped-images.ts';

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
