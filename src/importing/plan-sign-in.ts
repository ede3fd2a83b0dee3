import { trimTrailing } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import { type IdentityRecord, STATUS } from '../store/ports/index.ts';
import { IDENTITY_COLUMNS } from './new-api-mapping.ts';
import type { PlanContext, PlannedUser } from './plan-context.ts';
import { findFault, isDeleted, isFlag, readFlag, readNumber, readText } from './read-source.ts';

type Identity = Pick<IdentityRecord, 'provider' | 'subject'>;
/** Identities at custom providers, by the user's id in the source. */
export type Bindings = ReadonlyMap<string, readonly Identity[]>;

const MAX_SUBJECT = 128;

export async function readBindings(
  { source, providers, report }: PlanContext,
  after: number,
  until: number,
): Promise<Bindings> {
  const bindings = new Map<string, Identity[]>();
  for (const row of await source.ofUsers('user_oauth_bindings', after, until)) {
    const provider = providers.get(readText(row, 'provider_id'));
    const subject = readText(row, 'provider_user_id');
    if (provider === undefined) {
      const message = 'the sign-in provider that it belongs to is not imported';
      const id = `binding ${readText(row, 'id')}`;
      report.remark({ kind: 'identity', id, name: '', effect: 'left', code: 'provider_left', message });
      continue;
    }
    const userId = readText(row, 'user_id');
    bindings.set(userId, [...(bindings.get(userId) ?? []), { provider, subject }]);
  }
  return bindings;
}

/** All that the users name, to ask what is claimed here already. */
export const readIdentities = (rows: readonly SourceRow[], bindings: Bindings): Identity[] =>
  rows.flatMap((row) => ownIdentities(row, bindings));

const ownIdentities = (row: SourceRow, bindings: Bindings): Identity[] => [
  ...Object.entries(IDENTITY_COLUMNS).flatMap(([column, provider]) => {
    const subject = readText(row, column).trim();
    return subject === '' ? [] : [{ provider, subject }];
  }),
  ...(bindings.get(readText(row, 'id')) ?? []),
];

/** `taken`: by accounts here; `seen`: by earlier ones of the source. */
type Candidate = {
  row: SourceRow;
  user: PlannedUser;
  bindings: Bindings;
  taken: ReadonlySet<string>;
  seen: Set<string>;
};

/** Identities that can sign in here. */
export function planIdentities({ report }: PlanContext, { row, user, bindings, taken, seen }: Candidate): Identity[] {
  return ownIdentities(row, bindings).filter(({ provider, subject }) => {
    const key = `${provider}\n${subject}`;
    const why = refuse({ provider, subject }, taken.has(key) || seen.has(key));
    if (why === undefined) {
      seen.add(key);
      return true;
    }
    report.remark({
      ...{ kind: 'identity', id: `${provider} of user ${user.sourceId}`, name: user.record.username, effect: 'left' },
      ...why,
    });
    return false;
  });
}

function refuse({ provider, subject }: Identity, isTaken: boolean) {
  // A login name may pass to another person, a number never does.
  if (provider === 'github' && !/^\d+$/.test(subject)) {
    return { code: 'github_name', message: "it is GitHub's name of the account, not its number: they bind it again" };
  }
  if (subject.length > MAX_SUBJECT || subject.includes('\uFFFD')) {
    return { code: 'unreadable', message: `the id at ${provider} is too long or not valid UTF-8` };
  }
  return isTaken ? { code: 'identity_taken', message: 'another account has it' } : undefined;
}

export type FactorRows = {
  factors: ReadonlyMap<string, SourceRow>;
  /** Backup codes that were not used. */
  codes: ReadonlyMap<string, number>;
  passkeys: ReadonlyMap<string, SourceRow>;
  credentialIds: string[];
  /** Credentials that exist here, and those of earlier rows of the page. */
  taken: Set<string>;
};

/** The shared secret of an authenticator: at least 80 bits. */
const SECRET = /^[A-Z2-7]{16,128}=*$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const TRANSPORT = /^[a-z-]{1,32}$/;

export async function readFactors(
  { source }: PlanContext,
  after: number,
  until: number,
): Promise<Omit<FactorRows, 'taken'>> {
  const present = (rows: SourceRow[]) => rows.filter((row) => !isDeleted(row));
  const factors = present(await source.ofUsers('two_fas', after, until)).filter(
    // One of which nobody can say that it is off is on.
    (row) => readFlag(row, 'is_enabled') || !isFlag(row, 'is_enabled'),
  );
  const codes = new Map<string, number>();
  for (const row of present(await source.ofUsers('two_fa_backup_codes', after, until))) {
    if (readFlag(row, 'is_used')) continue;
    const userId = readText(row, 'user_id');
    codes.set(userId, (codes.get(userId) ?? 0) + 1);
  }
  const passkeys = present(await source.ofUsers('passkey_credentials', after, until));
  return {
    factors: new Map(factors.map((row) => [readText(row, 'user_id'), row])),
    codes,
    passkeys: new Map(passkeys.map((row) => [readText(row, 'user_id'), row])),
    credentialIds: passkeys.flatMap((row) => toBase64Url(readText(row, 'credential_id')) ?? []),
  };
}

/** The user with second factor and passkey; disabled where a factor that they had is unreadable. */
export function planFactors(context: PlanContext, user: PlannedUser, rows: FactorRows): PlannedUser {
  const { report, secretBox } = context;
  const { sourceId, record } = user;
  const remark = (effect: 'left' | 'changed' | 'note', code: string, message: string) => {
    report.remark({ kind: 'user', id: sourceId, name: record.username, effect, code, message });
  };
  const passkeys = planPasskey(context, { row: rows.passkeys.get(sourceId), taken: rows.taken, remark });
  const row = rows.factors.get(sourceId);
  if (row === undefined) return { ...user, passkeys };
  const secret = readText(row, 'secret').trim().toUpperCase();
  if (findFault(row, ['secret']) !== undefined || !SECRET.test(secret)) {
    remark(
      'changed',
      'factor_unreadable',
      'its second factor cannot be read: it is disabled until an administrator reviews it',
    );
    return { ...user, passkeys, record: { ...record, status: STATUS.disabled } };
  }
  if ((rows.codes.get(sourceId) ?? 0) > 0) {
    remark(
      'note',
      'backup_codes_left',
      'its backup codes are stored there in a form that cannot be taken: it makes new ones',
    );
  }
  return { ...user, passkeys, factor: { secretSealed: secretBox.seal(trimTrailing(secret, '=')) } };
}

type Remarker = (effect: 'note', code: string, message: string) => void;

function planPasskey(
  context: PlanContext,
  { row, taken, remark }: { row: SourceRow | undefined; taken: Set<string>; remark: Remarker },
): PlannedUser['passkeys'] {
  if (row === undefined) return [];
  const rpId = relyingParty(context.options);
  if (rpId === undefined) {
    remark('note', 'passkey_left', 'its passkey is not taken: the source does not say for which host name it is');
    return [];
  }
  const credentialId = toBase64Url(readText(row, 'credential_id'));
  const publicKey = toBase64Url(readText(row, 'public_key'));
  if (credentialId === undefined || publicKey === undefined) {
    remark('note', 'passkey_left', 'its passkey cannot be read');
    return [];
  }
  if (taken.has(credentialId)) {
    remark('note', 'passkey_left', 'its passkey exists here already');
    return [];
  }
  // It would confirm nothing, but everything would have to be confirmed with it.
  if (!context.keepsIds) {
    remark('note', 'passkey_left', 'its passkey holds the id of the account there, which is another one here');
    return [];
  }
  taken.add(credentialId);
  return [
    {
      credentialId,
      publicKey,
      rpId,
      name: 'passkey',
      counter: Math.max(0, readNumber(row, 'sign_count') ?? 0),
      transports: readTransports(readText(row, 'transports')),
      backedUp: readFlag(row, 'backup_state'),
      createdAt: context.now,
      lastUsedAt: 0,
    },
  ];
}

/** The domain that passkeys belong to: the setting, else the host of the address. */
function relyingParty(options: ReadonlyMap<string, string>): string | undefined {
  const named = (options.get('passkey.rp_id') ?? '').trim();
  if (named !== '') return named;
  const address = options.get('ServerAddress') ?? '';
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

function toBase64Url(text: string): string | undefined {
  return text.length <= 8192 && BASE64.test(text) ? Buffer.from(text, 'base64').toString('base64url') : undefined;
}

function readTransports(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text || '[]');
    return Array.isArray(list)
      ? list.filter((item): item is string => typeof item === 'string' && TRANSPORT.test(item))
      : [];
  } catch {
    return [];
  }
}
