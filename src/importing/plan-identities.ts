import type { SourceRow } from '../store/index.ts';
import type { IdentityRecord } from '../store/ports/index.ts';
import { IDENTITY_COLUMNS } from './new-api-mapping.ts';
import type { PlanContext, PlannedUser } from './plan-context.ts';
import { readText } from './read-source.ts';

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

/** Those that can sign in here. */
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
