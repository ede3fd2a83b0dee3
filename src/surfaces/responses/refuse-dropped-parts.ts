import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { ClientRequest, DecodedRequest } from '../../tasks/index.ts';
import { vendorErrors } from '../../vendors/index.ts';

/** Parts that a prompt is made of, or that earlier answers leave in a conversation. */
const TEXTS: ReadonlySet<Json> = new Set(['input_text', 'output_text', 'text', 'refusal', 'summary_text']);
const IMAGE = 'input_image';

/**
 * Refuses what a plugin leaves out of the input of a response: the client would buy a result that
 * is made without its image. No plugin knows the files of OpenAI's API. Those that ship take texts
 * and images; others may read what they like.
 * @throws tasks.plugin_request_invalid
 */
export function refuseDroppedParts({ body }: ClientRequest): (decoded: DecodedRequest) => void {
  const parts = body.kind === 'json' && isObject(body.value) ? listParts(body.value.input ?? null) : [];
  return ({ plugin, intent }) => {
    const taken = parts.length > 0 && plugin.layer === 'factory' ? JSON.stringify(intent.requestBody ?? null) : '';
    for (const part of parts) {
      const { type = null, file_id: file = null } = part;
      if (file !== null) throw refusal('No file is known by its file_id here: send its address or the image itself.');
      if (plugin.layer !== 'factory') continue;
      if (type !== IMAGE)
        throw refusal(`The model takes no ${JSON.stringify(String(type).slice(0, 60))} in its input.`);
      const address = readAddress(part);
      if (address === '' || !taken.includes(JSON.stringify(address).slice(1, -1)))
        throw refusal('The model does not take this image, or not so many: leave it out.');
    }
  };
}

const refusal = (message: string) => vendorErrors.plugin_request_invalid({ message, param: 'input' });

/** What is no text, in the items of the input and in their contents. */
function listParts(input: Json): JsonObject[] {
  const items = (Array.isArray(input) ? input : []).filter((item): item is JsonObject => isObject(item));
  const inner = items.flatMap(({ content = null }) => (Array.isArray(content) ? content : []));
  const parts = inner.filter((part): part is JsonObject => isObject(part) && !TEXTS.has(part.type ?? null));
  return [...parts, ...items.filter(({ type }) => type === IMAGE || type === 'input_file')];
}

/** The address of an image, or its bytes, which plugins take out of a data URL. */
function readAddress({ image_url: given = null }: JsonObject): string {
  const address = isObject(given) ? given.url : given;
  const text = typeof address === 'string' ? address.trim() : '';
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text;
}
