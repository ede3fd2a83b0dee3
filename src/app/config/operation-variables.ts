import { isAbsolute } from 'node:path';
import { err, ok } from '../../kernel/index.ts';
import type { StorageLocation } from '../../operations/storage/result-files.ts';
import { parsePublicKey } from '../../plugins/signing/signing-keys.ts';
import { hostList, integer, oneOf, passphrase, pemFile, text, urlWithScheme, type ValueKind } from './config-kinds.ts';
import { variable } from './define-variable.ts';
import { backupLocation } from './storage-locations.ts';

/** Names that an authority can verify: neither addresses nor wildcards. */
const domainList: ValueKind<readonly string[]> = {
  type: 'host list',
  allowed: 'public host names, comma-separated (gate.example.com)',
  parse(value) {
    const names = hostList.parse(value);
    if (!names.ok) return names;
    return names.value.every((name) => /[a-z]/.test(name) && !name.includes(':')) ? names : err('');
  },
};

const mailAddress: ValueKind<string> = {
  ...text('an email address'),
  parse: (value) => (/^[^\s@,:]+@[^\s@,:]+$/.test(value) ? ok(value) : err('')),
};

/** A certificate from an authority that speaks ACME. */
export const ACME_VARIABLES = {
  acmeDomains: variable({
    env: 'ACME_DOMAIN',
    group: 'server',
    doc: 'Host names for which the gateway orders and renews a TLS certificate by ACME; it then serves HTTPS. Setting it accepts the terms of the authority.',
    kind: domainList,
    default: [],
    defaultText: 'unset: off',
  }),
  acmeEmail: variable({
    env: 'ACME_EMAIL',
    group: 'server',
    doc: 'Email address of the account at the ACME authority.',
    kind: mailAddress,
    default: '',
    defaultText: 'unset',
  }),
  acmeDirectory: variable({
    env: 'ACME_DIRECTORY_URL',
    group: 'server',
    doc: 'Directory of the ACME authority.',
    kind: urlWithScheme(['https:'], 'an https URL'),
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    defaultText: "Let's Encrypt",
  }),
  acmeCa: variable({
    env: 'ACME_CA_FILE',
    group: 'server',
    doc: 'Certificates (PEM) that are trusted when the ACME authority itself is called, instead of the public ones: for an authority of your own.',
    kind: pemFile,
    default: '',
    defaultText: 'unset',
  }),
  acmeChallenge: variable({
    env: 'ACME_CHALLENGE',
    group: 'server',
    doc: 'How the authority verifies the names: over port 80 (http-01). tls-alpn-01 is no longer supported: the gateway starts with a warning and serves the certificate that it has, which is not renewed.',
    kind: oneOf('http-01', 'tls-alpn-01'),
    default: 'http-01',
  }),
  acmeHttpPort: variable({
    env: 'ACME_HTTP_PORT',
    group: 'server',
    doc: 'Port that answers http-01 and sends browsers to HTTPS. The authority comes to port 80: forward that here, or listen there.',
    kind: integer(1, 65_535),
    default: 80,
  }),
};

const bucketKey = { ...text(), type: 'secret' };
const NOWHERE: StorageLocation = { kind: 'folder', path: '' };

/** Where backups go, and who can open the secrets in them. */
export const BACKUP_VARIABLES = {
  backupTo: variable({
    env: 'BACKUP_TO',
    group: 'backup',
    doc: 'Where backups go: the absolute path of a folder, or a bucket of a server that speaks S3. One place belongs to one gateway. See operating/backup-and-upgrade.md.',
    kind: backupLocation,
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

declare const RELEASE_KEY: string;

/** The public key of the releases that the executable is one of; empty in a build of one's own. */
const BUILT_IN_KEY = typeof RELEASE_KEY === 'undefined' ? '' : RELEASE_KEY;

const releaseLocation: ValueKind<string> = {
  type: 'address or folder',
  allowed: 'an address with https (https://example.com/releases/latest) or the absolute path of a folder',
  parse(value) {
    if (isAbsolute(value)) return ok(value);
    const url = URL.canParse(value) ? new URL(value) : undefined;
    return url?.protocol === 'https:' && url.search === '' && url.hash === '' ? ok(value) : err('');
  },
};

const publicKey: ValueKind<string> = {
  type: 'public key',
  allowed: 'a public key of minisign (RWQ…)',
  parse: (value) => (parsePublicKey(value) ? ok(value) : err('')),
};

/** Where `taskgate upgrade` finds releases, and whom it believes. */
export const UPGRADE_VARIABLES = {
  upgradeUrl: variable({
    env: 'UPGRADE_URL',
    group: 'server',
    doc: 'Where `taskgate upgrade` finds the files of the newest release. Nothing else reads it, and nothing is upgraded by itself.',
    kind: releaseLocation,
    default: '',
    defaultText: 'unset: off',
    // It may name a user and a password.
    secret: true,
  }),
  upgradeKey: variable({
    env: 'UPGRADE_PUBLIC_KEY',
    group: 'server',
    doc: 'The key that must have signed a release for `taskgate upgrade`.',
    kind: publicKey,
    default: BUILT_IN_KEY,
    defaultText: 'the key that signed this release; unset in a build of your own',
  }),
};
