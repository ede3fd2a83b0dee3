import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** The first of these encodings that the client accepts; `q=0` refuses one. */
export function chooseEncoding<Name extends string>(request: Request, names: readonly Name[]): Name | undefined {
  const accepted = new Set(
    (request.headers.get('accept-encoding') ?? '')
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .filter((part) => !/;\s*q=0(\.0+)?$/.test(part))
      .map((part) => part.split(';', 1)[0]),
  );
  return names.find((name) => accepted.has(name));
}

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
  // The answer to an error is ready.
  if (responseValue instanceof Response || chooseEncoding(request, ['gzip']) === undefined) return undefined;
  return new Response(new Uint8Array(await promisify(gzip)(JSON.stringify(responseValue))), {
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', vary: 'accept-encoding' },
  });
}
