/**
 * The panel's page for a target such as `channel:3` or `plugin:kling@1.2.0`; null if it has none.
 */
export function auditTargetPath(target: string): string | null {
  const [, kind = '', name = ''] = /^([a-z_]+):(.+)$/.exec(target) ?? [];
  const encodedName = encodeURIComponent(name);
  switch (kind) {
    case 'channel':
      return `/channels/${encodedName}`;
    case 'user':
      return `/users/${encodedName}`;
    case 'task':
      return `/tasks/${encodedName}`;
    case 'oauth_provider':
      return `/settings/providers/${encodedName}`;
    case 'option':
      return `/settings?q=${encodedName}`;
    case 'plugin':
      return `/plugins/${encodeURIComponent(name.split('@')[0] ?? '')}`;
    default:
      return null;
  }
}
