/**
 * The URL of a Redis server on which the gateway waits for every answer without limit. By default
 * it continues without the answer after half a second, which a busy machine sometimes exceeds.
 * Options in the URL override the gateway's own, and a value that is not a number means no limit.
 */
export function withoutTimeout(redisUrl: string): string {
  const url = new URL(redisUrl);
  url.searchParams.set('commandTimeout', 'none');
  return url.href;
}
