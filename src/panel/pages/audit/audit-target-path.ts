/**
 * Where the panel shows what an entry is about: `channel:3`, `plugin:kling@1.2.0`; null where there
 * is no page.
 */
export function findTarget(target: string): string | null {
  const [, kind = '', name = ''] = /^([a-z_]+):(.+)$/.exec(target) ?? [];
  const safe = encodeURIComponent(name);
  switch (kind) {
    case 'channel':
      return `/channels/${safe}`;
    case 'user':
      return `/users/${safe}`;
    case 'task':
      return `/tasks/${safe}`;
    case 'oauth_provider':
      return `/settings/providers/${safe}`;
    case 'option':
      return `/settings?q=${safe}`;
    case 'plugin':
      return `/plugins/${encodeURIComponent(name.split('@')[0] ?? '')}`;
    default:
      return null;
  }
}
