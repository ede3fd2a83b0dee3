import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { chooseEncoding } from '../../panel-files/choose-encoding.ts';

/**
 * Sends an answer of JSON in gzip where the client takes it. For long answers that hold no secret
 * and nothing of the request: the length of a compressed one tells what its parts have in common.
 */
export async function compressJson({
  responseValue,
  request,
}: {
  responseValue: unknown;
  request: Request;
}): Promise<Response | undefined> {
  if (chooseEncoding(request, ['gzip']) === undefined) return undefined;
  return new Response(new Uint8Array(await promisify(gzip)(JSON.stringify(responseValue))), {
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', vary: 'accept-encoding' },
  });
}
