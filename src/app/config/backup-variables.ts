import type { StorageLocation } from '../../operations/storage/result-files.ts';
import { passphrase, text } from './config-kinds.ts';
import { variable } from './define-variable.ts';
import { backupPlace } from './results-place.ts';

const bucketKey = { ...text(), type: 'secret' };
const NOWHERE: StorageLocation = { kind: 'folder', path: '' };

/** Where backups go, and who can open the secrets in them. */
export const BACKUP_VARIABLES = {
  backupTo: variable({
    env: 'BACKUP_TO',
    group: 'backup',
    doc: 'Where backups go: the absolute path of a folder, or a bucket of a server that speaks S3. One place belongs to one gateway. See operating/backup-and-upgrade.md.',
    kind: backupPlace,
    default: NOWHERE,
    defaultText: 'unset: no backups by schedule',
    secret: true,
  }),
  backupS3KeyId: variable({
    env: 'BACKUP_S3_ACCESS_KEY_ID',
    group: 'backup',
    doc: 'The access key of the bucket in BACKUP_TO.',
    kind: bucketKey,
    default: '',
    defaultText: 'empty',
    secret: true,
  }),
  backupS3Secret: variable({
    env: 'BACKUP_S3_SECRET_ACCESS_KEY',
    group: 'backup',
    doc: 'The secret of that access key.',
    kind: bucketKey,
    default: '',
    defaultText: 'empty',
    secret: true,
  }),
  backupPassphrase: variable({
    env: 'BACKUP_PASSPHRASE',
    group: 'backup',
    doc: 'Seals the secrets in backups. Keep it apart from the backups: with both, anybody can read the keys of your vendors.',
    kind: passphrase,
    default: '',
    defaultText: 'unset',
    secret: true,
  }),
  backupPassphraseFile: variable({
    env: 'BACKUP_PASSPHRASE_FILE',
    group: 'backup',
    doc: 'A file whose first line is that passphrase.',
    kind: text('a path'),
    default: '',
    defaultText: 'unset',
  }),
  backupRecipients: variable({
    env: 'BACKUP_RECIPIENTS',
    group: 'backup',
    doc: 'Public keys of age, comma-separated, instead of a passphrase: only the holders of their secret keys can open the secrets in backups.',
    kind: text('age1…, comma-separated'),
    default: '',
    defaultText: 'unset',
  }),
};
