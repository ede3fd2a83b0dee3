import { boolean, integer, type OptionRules } from './option-rule.ts';

export const backupOptions = {
  /** Whether a backup is made each day, at the place that BACKUP_TO names. */
  'backup.daily': { proof: 'none', ...boolean(false) },
  /** The hour of the day, in the time zone of the gateway. */
  'backup.hour': { proof: 'none', ...integer(3, 0, 23) },
  /** Of scheduled backups, the newest of each of so many days, weeks and months stay. */
  'backup.keep_daily': { proof: 'none', ...integer(7, 1, 366) },
  'backup.keep_weekly': { proof: 'none', ...integer(4, 0, 520) },
  'backup.keep_monthly': { proof: 'none', ...integer(6, 0, 600) },
} satisfies OptionRules;
