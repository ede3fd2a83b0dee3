import { trimTrailing } from '../../kernel/index.ts';

/**
 * Whether a URL leads back to this gateway, where a download would ask for itself until something
 * breaks. `own` are the addresses that the gateway knows of itself, each with the path below which
 * it serves. http and https are the same place behind a proxy, all names of the loopback interface
 * are this machine, and the dot that ends a name in full means nothing.
 */
export function pointsToSelf(own: readonly string[], target: URL): boolean {
  const path = decodePath(target.pathname);
  return own.some((address) => {
    const base = URL.canParse(address) ? new URL(address) : undefined;
    if (!base || placeOf(base) !== placeOf(target)) return false;
    return path.startsWith(`${trimTrailing(base.pathname, '/')}/v1/`);
  });
}

const LOOPBACK =
  /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\]|0\.0\.0\.0|\[::\])$/;

/** `URL` leaves the port away where it is the scheme's own. */
function placeOf({ hostname, port }: URL): string {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return `${LOOPBACK.test(name) ? 'localhost' : name}:${port}`;
}

/** As the router of the other side may read it: escapes resolved, empty segments dropped. */
function decodePath(path: string): string {
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // A broken escape is taken as it stands.
  }
  return decoded.replace(/\/{2,}/g, '/');
}
