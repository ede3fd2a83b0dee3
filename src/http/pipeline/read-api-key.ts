/** Where clients of other APIs send their key, beside `Authorization`. */
const KEY_HEADERS = ['x-api-key', 'api-key', 'xi-api-key', 'x-key'] as const;
/** How clients of some vendors begin an Authorization header, which they let nobody change. */
const KEY_SCHEME = /^(?:key|token)[ \t]+/i;

/**
 * The API key of a request, as an Authorization header would say it: from `Authorization`, or from
 * the first header that names one. `undefined`: the request has none.
 */
export function readApiKey(headers: Headers): string | undefined {
  const authorization = headers.get('authorization');
  if (authorization !== null) return authorization.replace(KEY_SCHEME, 'Bearer ');
  const name = KEY_HEADERS.find((each) => headers.has(each));
  return name === undefined ? undefined : `Bearer ${headers.get(name)}`;
}
