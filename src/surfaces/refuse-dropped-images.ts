import { isObject, type Json } from '../kernel/index.ts';
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
  const taken = isShipped && images.length > 0 ? JSON.stringify(intent.requestBody ?? null) : '';
  for (const [index, { image, param }] of images.entries()) {
    if (isObject(image) && (image.file_id ?? null) !== null)
      throw refusal('No file is known by its file_id here: send its address or the image itself.', param);
    if (!isShipped) continue;
    const address = readAddress(image);
    const isTaken = address !== '' && taken.includes(JSON.stringify(address).slice(1, -1));
    if (!isTaken || index >= MAX_IMAGES)
      throw refusal('The model does not take this image, or not so many: leave it out.', param);
  }
}

export const refusal = (message: string, param: string) => vendorErrors.plugin_request_invalid({ message, param });

/** The address of an image, or its bytes, which plugins take out of a data URL. */
function readAddress(image: Json): string {
  const given = isObject(image) ? (image.image_url ?? image.url ?? null) : image;
  const address = isObject(given) ? given.url : given;
  const text = typeof address === 'string' ? address.trim() : '';
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text;
}
