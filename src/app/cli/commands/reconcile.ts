import { readFile } from 'node:fs/promises';
import { isoTime, pluralize, QUOTA_PER_USD, unreadable } from '../../../kernel/index.ts';
import { openStoreBesideGateway } from '../../../operations/storage/open-store-beside-gateway.ts';
import { type Reconciliation, readVendorCsv, reconcileVendor } from '../../../reports/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

/** Jobs of each kind that are named for people; `--json` has all. */
const SHOWN = 20;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Compares a vendor's list of jobs with the tasks of a channel; exit 1 where they differ. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const path = option(input, 'vendor-csv') ?? '';
  const channel = Number(option(input, 'channel'));
  if (!Number.isSafeInteger(channel) || channel < 1) throw new UsageError('--channel must be the id of a channel');
  const [since, until] = [readDay(input, 'since', 0), readDay(input, 'until', 86_399)];
  // The file is read before the command may go on as another user.
  const text = await readFile(path, 'utf8').catch((error) => {
    throw unreadable(path, error);
  });
  const jobs = readVendorCsv(text, { id: option(input, 'id-column'), cost: option(input, 'cost-column') });
  const { config } = readSettings(input, { needsSecrets: false });
  await requireDatabase(config);
  const store = await openStoreBesideGateway(config);
  try {
    const filter = {
      channelId: channel,
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
    };
    const found = await reconcileVendor({ store }, { jobs, filter });
    const agrees = found.unknown.length + found.refunded.length + found.repeated.length + found.missing.length === 0;
    answer(input, { ok: agrees, ...found }, describe(found));
    return agrees ? EXIT.ok : EXIT.failed;
  } finally {
    await store.close();
  }
}

/** Days are those of UTC, as in most vendors' exports. */
function readDay(input: CommandInput, name: 'since' | 'until', second: number): number | undefined {
  const text = option(input, name);
  if (text === undefined) return undefined;
  const at = DAY.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // The 30th of February is read as a day of March.
  if (Number.isNaN(at) || isoTime(at).slice(0, 10) !== text)
    throw new UsageError(`--${name} must be a day such as 2026-11-28`);
  return at / 1000 + second;
}

function describe({
  matched,
  vendorCost,
  expectedCost,
  charged,
  unknown,
  refunded,
  repeated,
  missing,
}: Reconciliation): string {
  const usd = charged / QUOTA_PER_USD;
  const parts: [string, string[]][] = [
    ['only at the vendor: nobody here was billed', unknown.map(({ id, cost }) => `${id}${price(cost)}`)],
    ['billed by the vendor, refunded here', refunded.map(({ id, cost, task }) => `${id}${price(cost)}, ${task}`)],
    ['listed more than once by the vendor', repeated.map(({ id, times }) => `${id}, ${times} times`)],
    ['only here: the vendor does not list it', missing.map(({ id, task }) => `${id}, ${task}`)],
  ];
  return [
    `${pluralize(matched, 'job is', 'jobs are')} in both lists; the vendor's costs are ${round(vendorCost)}, what users paid is ${round(usd)} USD`,
    ...(expectedCost === null
      ? []
      : [
          `by the channel's cost prices they cost ${round(expectedCost)} USD, which leaves ${round(usd - expectedCost)} USD`,
        ]),
    ...parts.flatMap(([what, rows]) => listRows(what, rows)),
  ].join('\n');
}

const price = (cost: number | undefined): string => (cost === undefined ? '' : ` (${round(cost)})`);
const round = (amount: number): string => String(Number(amount.toFixed(6)));

const listRows = (what: string, rows: readonly string[]): string[] =>
  rows.length === 0
    ? []
    : [
        `${rows.length} ${what}:`,
        ...rows.slice(0, SHOWN).map((row) => `  ${row}`),
        ...(rows.length > SHOWN ? [`  and ${rows.length - SHOWN} more (--json has all)`] : []),
      ];
