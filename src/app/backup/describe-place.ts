import type { Config } from '../config/config-variables.ts';

/** Where BACKUP_TO leads, safe to show; null: it is not set. */
export function describePlace({ backupTo: place }: Pick<Config, 'backupTo'>): string | null {
  if (place.kind === 'folder') return place.path || null;
  return `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`;
}
