import { isObject, type JsonObject, parseJson, type SecretBox } from '../kernel/index.ts';
import type { IdentityRecord, ImportedKey, ImportedUser, PasskeyRecord, Store } from '../store/ports/index.ts';
import type { SourceReader } from './read-source.ts';
import type { Reporter } from './report.ts';

/** What every plan looks at. */
export type PlanContext = {
  source: SourceReader;
  /** Names this source among all that were imported, whenever and from wherever it is read. */
  sourceKey: string;
  store: Store;
  secretBox: SecretBox;
  report: Reporter;
  /** The options of the source. */
  options: ReadonlyMap<string, string>;
  /** Options whose value cannot be read. */
  unreadable: readonly string[];
  /** Quota here for one unit of quota there. */
  scale: number;
  /** Whether users keep their ids. */
  keepsIds: boolean;
  /** Whether a root account exists here, or was taken by an earlier run. */
  hasRoot: boolean;
  /** Slugs of custom providers by their id in the source. */
  providers: ReadonlyMap<string, string>;
  /** Unix seconds. */
  now: number;
};

/** A JSON object in a text; empty for anything else. */
export function readObject(text: string | undefined): JsonObject {
  const value = parseJson(text ?? '');
  return isObject(value) ? (value as JsonObject) : {};
}

/** Whole quota here: never more than there. */
export const toQuota = (scale: number, quota: number): number => Math.floor(quota * scale);

/** What was spent, for figures alone: at least 0, and no number that is not exact. */
export const toUsed = (scale: number, quota: number | undefined): number =>
  Math.min(toQuota(scale, Math.max(0, quota ?? 0)), Number.MAX_SAFE_INTEGER);

/** The entries of a list that commas separate, without blanks around them, each once. */
export const splitList = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  ),
];

/** An account with all that belongs to it, as it will be written. */
export type PlannedUser = {
  sourceId: string;
  record: ImportedUser;
  /** One ledger line; none for 0. */
  balance: { grantKey: string; amount: number };
  /** The id, in the source, of who invited them; 0: nobody. */
  inviter: number;
  keys: Omit<ImportedKey, 'userId' | 'walletId'>[];
  identities: Pick<IdentityRecord, 'provider' | 'subject'>[];
  /** The authenticator's secret, sealed. */
  factor: { secretSealed: string } | undefined;
  passkeys: Omit<PasskeyRecord, 'id' | 'userId'>[];
};
