import { isObject, type Json, type JsonObject } from '../kernel/index.ts';
import type { DecodedRequest } from '../tasks/index.ts';
import { vendorErrors } from '../vendors/index.ts';

/** No model takes as many images. */
const MAX_IMAGES = 100;

/** An image as OpenAI's clients write it, and the member that has it. */
export type NamedImage = { image: Json; param: string };

/**
 * Refuses images that a plugin leaves out of what it makes of a request: the client would buy a
 * result that is made without them. No plugin knows the files of OpenAI's API. Plugins that do not
 * ship may leave out what they like.
 * @throws tasks.plugin_request_invalid
 */
export function refuseDroppedImages({ plugin, intent }: DecodedRequest, images: readonly NamedImage[]): void {
  const isShipped = plugin.layer === 'factory';
  // A search for each image within the text of all would be quadratic.
  const taken = new Set(isShipped && images.length > 0 ? listTexts(intent.requestBody ?? null).map(cutToBytes) : []);
  for (const [index, { image, param }] of images.entries()) {
    if (isObject(image) && (image.file_id ?? null) !== null)
      throw refusal('No file is known by its file_id here: send its address or the image itself.', param);
    if (!isShipped) continue;
    const address = readAddress(image);
    const isTaken = address !== '' && taken.has(address);
    if (!isTaken || index >= MAX_IMAGES)
      throw refusal('The model does not take this image, or not so many: leave it out.', param);
  }
}

export const refusal = (message: string, param: string) => vendorErrors.plugin_request_invalid({ message, param });

function readAddress(image: Json): string {
  const given = isObject(image) ? (image.image_url ?? image.url ?? null) : image;
  const address = isObject(given) ? given.url : given;
  return typeof address === 'string' ? cutToBytes(address) : '';
}

/** An address, or the bytes of a data URL, which some plugins take out of it. */
function cutToBytes(address: string): string {
  const text = address.trim();
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1).trim() : text;
}

/** Each text in a value. */
function listTexts(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value as JsonObject).flatMap(listTexts) : [];
}
