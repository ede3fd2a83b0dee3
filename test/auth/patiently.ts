/**
 * The URL of a Redis server under which the gateway waits for every answer, as long as it takes: by
 * itself it goes on alone after half a second, which a busy machine takes now and then. What a URL
 * says goes before the gateway's own options, and what is no number is no limit.
 */
export function patiently(redisUrl: string): string {
  const url = new URL(redisUrl);
  url.searchParams.set('commandTimeout', 'none');
  return url.href;
}
