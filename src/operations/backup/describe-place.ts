import type { BackupConfig } from './types.ts';

/** Where BACKUP_TO leads, safe to show; null: it is not set. */
export function describePlace({ backupTo: place }: Pick<BackupConfig, 'backupTo'>): string | null {
  if (place.kind === 'folder') return place.path || null;
  return `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`;
}
