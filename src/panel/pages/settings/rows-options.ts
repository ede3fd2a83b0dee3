import type { TextKey } from '../../i18n/texts.ts';
import { toDollars, toQuota } from '../../ui/form/decimal.ts';
import type { RowColumn, RowsFormat } from '../../ui/form/rows/rows-format.ts';
import { budgetPeriods } from '../../ui/form/spending-limit.tsx';
import { sourceRows, toSource, toSourceCells } from '../marketplace/source-rows.ts';
import { optionUnits } from './option-units.ts';

/** A JSON option that is edited as rows, each the texts of its fields. */
export type RowsOption = RowsFormat & {
  parse(text: string): readonly (readonly string[])[];
  serialize(rows: readonly (readonly string[])[]): string;
};

/** A first check: the gateway refuses a few more hidden characters. */
const GROUP_NAME = /^[^\p{C}\p{Z}]{1,64}$/u;
const maxGroups = 1000;
const maxRequests = 1_000_000;

const groupColumn = {
  label: 'rows.group',
  isUnique: true,
  pattern: { matches: (text) => GROUP_NAME.test(text), fault: 'rows.groupInvalid' },
} as const satisfies Partial<RowColumn>;

/** An object of groups to a number, or to a list of numbers where there are several columns. */
const byGroup = (kind: 'text' | 'group', numbers: readonly RowColumn[], add: TextKey): RowsOption => ({
  columns: [{ ...groupColumn, kind }, ...numbers],
  layout: 'table',
  add,
  maximum: maxGroups,
  parse: (text) =>
    Object.entries(readObject(text)).map(([group, value]) => [
      group,
      ...(Array.isArray(value) ? value.map(String) : [String(value)]),
    ]),
  serialize: (rows) =>
    JSON.stringify(
      Object.fromEntries(
        rows.map(([group = '', ...texts]) => {
          const values = texts.map(Number);
          return [group.trim(), values.length === 1 ? values[0] : values];
        }),
      ),
    ),
});

/** As above; `default`, which is always there, is the first row. */
function byGroupWithDefault(
  option: RowsOption,
  { fixedFirst, initial }: { fixedFirst: NonNullable<RowsFormat['fixedFirst']>; initial: string },
): RowsOption {
  return {
    ...option,
    fixedFirst,
    parse(text) {
      const rows = option.parse(text);
      const first = rows.find(([group]) => group === 'default') ?? ['default', initial];
      return [first, ...rows.filter(([group]) => group !== 'default')];
    },
  };
}

/** What `default` has here, all other groups have. */
const forAllGroups = (number: RowColumn, add: TextKey): RowsOption =>
  byGroupWithDefault(byGroup('group', [number], add), {
    fixedFirst: { alone: 'rows.allGroups', amongOthers: 'rows.otherGroups' },
    initial: '0',
  });

const queueBounds = ['max_wait_seconds', 'max_waiting', 'max_waiting_per_user', 'max_waiting_bytes'] as const;

/** An object of groups to objects of numbers, each of which may be missing. */
const byGroupOptional = (names: readonly string[], numbers: readonly RowColumn[], add: TextKey): RowsOption => ({
  ...byGroup('group', numbers, add),
  layout: 'card',
  parse: (text) =>
    Object.entries(readObject(text)).map(([group, value]) => {
      const bounds = isRecord(value) ? value : {};
      return [group, ...names.map((name) => (bounds[name] === undefined ? '' : String(bounds[name])))];
    }),
  serialize: (rows) =>
    JSON.stringify(
      Object.fromEntries(
        rows.map(([group = '', ...texts]) => [
          group.trim(),
          Object.fromEntries(
            names.flatMap((name, index) => (texts[index]?.trim() ? [[name, Number(texts[index])]] : [])),
          ),
        ]),
      ),
    ),
});

/** What each user of a group may spend: US dollars in a period. */
const groupBudgets: RowsOption = {
  ...byGroup(
    'group',
    [
      { label: 'rows.usd', kind: 'decimal', min: 0.000002, max: 1_000_000_000 },
      { label: 'limit.period', kind: 'choice', initial: 'month', choices: budgetPeriods },
    ],
    'rows.addLimit',
  ),
  parse: (text) =>
    Object.entries(readObject(text)).map(([group, value]) => {
      const { amount = 0, period = '' } = isRecord(value) ? value : {};
      return [group, toDollars(Number(amount)), String(period)];
    }),
  serialize: (rows) =>
    JSON.stringify(
      Object.fromEntries(
        rows.map(([group = '', usd = '', period]) => [group.trim(), { amount: toQuota(usd) ?? 0, period }]),
      ),
    ),
};

/** Models of a group, each with those that may serve instead. */
const modelFallbacks: RowsOption = {
  ...byGroup('group', [], 'rows.addFallback'),
  columns: [
    { ...groupColumn, isUnique: undefined, kind: 'group' },
    { label: 'rows.model', kind: 'text' },
    {
      label: 'rows.fallbackModels',
      kind: 'text',
      pattern: { matches: (text) => readNames(text).length > 0, fault: 'rows.fallbackInvalid' },
    },
    { label: 'rows.fallbackAfter', kind: 'integer', unit: 'second', isOptional: true, max: 43_200 },
  ],
  layout: 'card',
  parse: (text) =>
    Object.entries(readObject(text)).flatMap(([group, own]) =>
      Object.entries(isRecord(own) ? own : {}).map(([model, rule]) => {
        const { models = [], after_seconds: after = '' } = isRecord(rule) ? rule : {};
        return [group, model, Array.isArray(models) ? models.join(', ') : '', String(after)];
      }),
    ),
  serialize(rows) {
    const groups: Record<string, Record<string, object>> = {};
    for (const [group = '', model = '', models = '', after = ''] of rows) {
      const rule = { models: readNames(models), ...(after.trim() ? { after_seconds: Number(after) } : {}) };
      groups[group.trim()] = { ...groups[group.trim()], [model.trim()]: rule };
    }
    return JSON.stringify(groups);
  },
};

const readNames = (text: string): string[] => text.split(',').flatMap((name) => name.trim() || []);

const marketplaceSources: RowsOption = {
  ...sourceRows,
  parse: (text) => Object.values(readObject(text)).map((source) => toSourceCells(isRecord(source) ? source : {})),
  serialize: (rows) =>
    JSON.stringify(
      rows.map(toSource).map(({ public_key, ...source }) => (public_key === null ? source : { ...source, public_key })),
    ),
};

/** Each option whose value is JSON. The ranges are those of the gateway, which checks again. */
export const rowsOptions: Readonly<Record<string, RowsOption>> = {
  /** An empty field is what holds for all. */
  'queue.group_limits': byGroupOptional(
    queueBounds,
    queueBounds.map((name) => ({
      label: `option.queue.${name}`,
      kind: 'integer',
      unit: optionUnits[`queue.${name}`],
      isOptional: true,
    })),
    'rows.addGroupLimit',
  ),
  'limits.groups': byGroupOptional(
    ['requests_per_minute', 'max_running'],
    [
      { label: 'limit.perMinute', kind: 'integer', isOptional: true, min: 1, max: maxRequests },
      { label: 'limit.running', kind: 'integer', isOptional: true, min: 1, max: maxRequests },
    ],
    'rows.addRequestLimit',
  ),
  'queue.group_priorities': byGroup(
    'group',
    [{ label: 'rows.priority', kind: 'integer', initial: '0', min: -10, max: 10 }],
    'rows.addPriority',
  ),
  'queue.model_fallbacks': modelFallbacks,
  groups: byGroupWithDefault(
    byGroup('text', [{ label: 'rows.ratio', kind: 'decimal', unit: 'ratio', initial: '1' }], 'rows.addGroup'),
    { fixedFirst: { alone: 'rows.defaultGroup', amongOthers: 'rows.defaultGroup' }, initial: '1' },
  ),
  'billing.group_budgets': groupBudgets,
  'results.days': forAllGroups(
    { label: 'rows.days', kind: 'integer', max: 36_500, zero: 'number.forever' },
    'rows.addRetention',
  ),
  'results.quota_gb': forAllGroups(
    { label: 'rows.gb', kind: 'decimal', max: 1_000_000, zero: 'limit.none' },
    'rows.addStorage',
  ),
  'results.price_gb_day': forAllGroups(
    { label: 'rows.usdPerGbDay', kind: 'decimal', max: 1000, zero: 'number.free' },
    'rows.addStoragePrice',
  ),
  ModelRequestRateLimitGroup: byGroup(
    'group',
    [
      { label: 'rows.submissions', kind: 'integer', initial: '0', max: maxRequests, zero: 'limit.none' },
      { label: 'rows.successful', kind: 'integer', min: 1, max: maxRequests },
    ],
    'rows.addRateLimit',
  ),
  'task_plugin.marketplace_sources': marketplaceSources,
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The object or list in a JSON text; an empty object if there is none. */
function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
