/** What an import took, found there already and left. */
import { escapeHiddenCharacters } from '../kernel/index.ts';

export type ItemKind =
  | 'user'
  | 'api_key'
  | 'identity'
  | 'channel'
  | 'provider'
  | 'price'
  | 'plugin'
  | 'option'
  | 'table'
  | 'source';

export type Remark = {
  kind: ItemKind;
  /** The id or name in the source. */
  id: string;
  /** A name that people know it by; empty: none. */
  name: string;
  /** `left`: not taken. `changed`: taken, but not as it was. `note`: taken; something to know. */
  effect: 'left' | 'changed' | 'note';
  code: string;
  message: string;
};

export type ImportReport = {
  source: { kind: string; version: string; key: string };
  dry_run: boolean;
  /** For each kind: what this run took, or with `dry_run` would take. */
  taken: Record<string, number>;
  /** What an earlier run took. */
  present: Record<string, number>;
  left: Record<string, number>;
  remarks: Remark[];
  /** Remarks beyond the most that a report lists. */
  remarks_omitted: number;
};

export type Reporter = {
  take(kind: ItemKind, count?: number): void;
  skip(kind: ItemKind): void;
  remark(remark: Remark): void;
};

/** A source of 100,000 users may give some to each. */
const MAX_REMARKS = 200_000;

export function createReporter(): Reporter & { report(head: Pick<ImportReport, 'source' | 'dry_run'>): ImportReport } {
  const taken: Record<string, number> = {};
  const present: Record<string, number> = {};
  const left: Record<string, number> = {};
  const remarks: Remark[] = [];
  let omitted = 0;
  const add = (counts: Record<string, number>, kind: string, count = 1) => {
    if (count > 0) counts[kind] = (counts[kind] ?? 0) + count;
  };
  return {
    take: (kind, count) => add(taken, kind, count),
    skip: (kind) => add(present, kind),
    remark(remark) {
      if (remark.effect === 'left') add(left, remark.kind);
      if (remarks.length < MAX_REMARKS) remarks.push(remark);
      else omitted += 1;
    },
    report: (head) => ({ ...head, taken, present, left, remarks, remarks_omitted: omitted }),
  };
}

/** A reporter for the second reading, whose findings are those of the first. */
export const silentReporter: Reporter = { take: () => undefined, skip: () => undefined, remark: () => undefined };

const TITLES: Readonly<Record<ItemKind, string>> = {
  user: 'users',
  api_key: 'API keys',
  identity: 'identities',
  channel: 'channels',
  provider: 'sign-in providers',
  plugin: 'plugins',
  price: 'prices',
  option: 'options',
  table: 'tables',
  source: 'source',
};
/** Remarks of one code that the text shows; the file has all. */
const SHOWN = 5;

/** Characters of a name that the text shows. */
const MAX_LABEL = 80;

/** The report as people read it. Names come from the source: none of them controls a terminal. */
export function describeReport(report: ImportReport): string {
  const { source, taken, present, left, remarks } = report;
  const lines = [
    `${source.kind} database of new-api${source.version === '' ? '' : ` (build ${shown(source.version)})`}`,
    report.dry_run ? 'a dry run: nothing is written' : 'imported',
    '',
  ];
  for (const kind of Object.keys(TITLES) as ItemKind[]) {
    const counts = [
      [taken[kind], report.dry_run ? 'to take' : 'taken'],
      [present[kind], 'taken before'],
      [left[kind], 'left'],
    ].flatMap(([count, what]) => (count ? [`${count} ${what}`] : []));
    if (counts.length > 0) lines.push(`${TITLES[kind]}: ${counts.join(', ')}`);
  }
  for (const [effect, title] of [
    ['left', 'Left out'],
    ['changed', 'Imported with changes'],
    ['note', 'To know'],
  ] as const) {
    const own = remarks.filter((remark) => remark.effect === effect);
    if (own.length > 0) lines.push('', `${title}:`, ...describeRemarks(own));
  }
  return lines.join('\n');
}

function describeRemarks(remarks: readonly Remark[]): string[] {
  return [...Map.groupBy(remarks, ({ kind, code }) => `${kind} ${code}`).values()].flatMap((same) => {
    const lines = same.slice(0, SHOWN).map(({ kind, id, name, message }) => {
      const label = name === '' || name === id ? shown(id) : `${shown(id)} (${shown(name)})`;
      return `  ${kind.replace('_', ' ')} ${label}: ${escapeHiddenCharacters(message)}`;
    });
    return same.length > SHOWN ? [...lines, `  … and ${same.length - SHOWN} more of these`] : lines;
  });
}

function shown(text: string): string {
  const characters = [...text.slice(0, 2 * MAX_LABEL)];
  const short = characters.slice(0, MAX_LABEL).join('');
  return escapeHiddenCharacters(short.length < text.length ? `${short}…` : short);
}
