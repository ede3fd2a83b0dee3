import type { Clock, Logger, Sentence } from '../../kernel/index.ts';
import type { BackupTrigger, DatabaseCounts, FileStore, ObjectStore } from '../../store/ports/index.ts';
import type { Secrets, SecretsConfig } from '../secrets/load-secrets.ts';
import type { DatabaseConfig } from '../storage/open-store-beside-gateway.ts';
import type { ResultFilesConfig, StorageLocation } from '../storage/result-files.ts';

/** A file of a backup as it is stored. */
export type StoredPart = { file: string; bytes: number; sha256: string };

/** `manifest.json` of a backup, written last: without it the backup does not exist. */
export type Manifest = {
  format: 1;
  id: string;
  /** Unix seconds: when its database was read. */
  created_at: number;
  trigger: BackupTrigger;
  /** The version of the program that made it. */
  version: string;
  /** The installation that it was made of. A restored one gets a new id. */
  installation: string;
  database: StoredPart & {
    kind: 'sqlite' | 'postgres';
    /** The number of the latest migration that its layout has. */
    migration: number;
    /** Size and digest of the SQLite file before it was compressed. */
    unpacked: { bytes: number; sha256: string } | null;
  };
  counts: { users: number; tasks: number; ledger_entries: number; ledger_sum: string };
  /** Null: they are not in the backup. */
  secrets: (StoredPart & { sealed_with: 'passphrase' | 'recipients' }) | null;
  /** The list of kept results; their files are shared by all backups of the location. */
  results: StoredPart & { count: number; total_bytes: number; missing: number };
};

/** Where backups are: `ID/…` and, shared by all, `results/…`. */
export type BackupLocation = {
  /** Safe to show. */
  name: string;
  /** Undefined: it is a bucket. */
  folder: string | undefined;
  objects: ObjectStore;
  results: FileStore;
  close(): Promise<void>;
};

/** Seals the secrets for the keeper of a passphrase or of a key. */
export type Seal = {
  with: 'passphrase' | 'recipients';
  encrypt(text: string): Promise<Uint8Array>;
};
/** Opens what `Seal` has sealed; undefined: the passphrase or key does not fit. */
export type Unseal = (sealed: Uint8Array) => Promise<string | undefined>;

/** The settings of a backup: what it reads, where it goes and how its secrets are sealed. */
export type BackupConfig = DatabaseConfig &
  ResultFilesConfig &
  SecretsConfig & {
    backupTo: StorageLocation;
    backupS3KeyId: string;
    backupS3Secret: string;
    backupRecipients: string;
    backupPassphrase: string;
    backupPassphraseFile: string;
  };

export type BackupDeps = {
  config: BackupConfig;
  /** The version of this program. */
  version: string;
  clock: Clock;
  logger: Logger;
  location: BackupLocation;
  signal: AbortSignal;
};

export type NewBackup = {
  trigger: BackupTrigger;
  /** Undefined: they are left out. */
  secrets: (Pick<Secrets, 'session' | 'crypto'> & { seal: Seal }) | undefined;
};

export type CreatedBackup = { manifest: Manifest; bytes: number; warnings: Sentence[] };

/** The database of a backup as it was stored, and what it holds. */
export type DumpedDatabase = {
  database: Manifest['database'];
  counts: DatabaseCounts;
  /** Where the digests of its kept results are: one `sha256 bytes` a line. */
  results: AsyncIterable<{ sha256: string; bytes: number }>;
  /** Removes what it needed beside the location. */
  close(): Promise<void>;
};
