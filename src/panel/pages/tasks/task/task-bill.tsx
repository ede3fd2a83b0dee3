import { Code, Stack, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { QUOTA_PER_USD } from '../../../../kernel/quota.ts';
import { translateOrQuote } from '../../../api/translate-sentence.ts';
import type { CallableModel, TaskDetail } from '../../../api/types.ts';
import { localise, type TextKey } from '../../../i18n/texts.ts';
import { useApiQuery } from '../../../session/use-api.ts';
import { Collapsible } from '../../../ui/display/collapsible.tsx';
import {
  type FieldLabels,
  type Format,
  labelChoice,
  labelField,
  useFormat,
  withSign,
} from '../../../ui/display/use-format.ts';
import { usePriceWords } from '../../../ui/display/use-price-words.ts';
import { Section } from '../../../ui/page/section.tsx';
import classes from './task-bill.module.css';

type Bill = TaskDetail['bill'];
/** The fields of a task that the bill needs; a row of the usage log has them too. */
type BilledTask = Pick<TaskDetail, 'status' | 'bill' | 'ledger' | 'platform' | 'model'>;

/**
 * What a task costs and why, in sentences. The formula is collapsed, unless `isExplained` and only
 * the formula can explain the price.
 */
export function TaskBill({ task, isExplained = false }: { task: BilledTask; isExplained?: boolean }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { bill, ledger } = task;
  return (
    <Section heading={t('task.bill')}>
      <div>
        <p className={classes.amount}>{formatAmount(bill, t, format)}</p>
        <Text size="sm" c="dimmed" mt={8} lh={1.6}>
          {explain(task, t, format)}
        </Text>
        {bill.kept_reservation !== undefined && (
          <Text size="sm" c="dimmed" mt={6}>
            {t('task.bill.keptWhy', {
              reason: translateOrQuote({ ...bill.kept_reservation_sentence, message: bill.kept_reservation }, t),
            })}
          </Text>
        )}
      </div>
      {bill.expression !== null && <Quantities task={task} />}
      {bill.expression !== null && <Price task={task} isExplained={isExplained} />}
      {ledger.length > 0 && (
        <Collapsible label={t('task.bill.ledger')}>
          <LedgerLines ledger={ledger} />
        </Collapsible>
      )}
    </Section>
  );
}

/** The price is an estimate until the bill is final, and stays one if the task failed. */
const isEstimate = ({ status, bill }: BilledTask): boolean => bill.settled === null || status === 'FAILURE';

function formatAmount({ expression, settled, reserved }: Bill, t: TFunction, format: Format): string {
  if (settled !== null) return format.money(settled);
  const amount = format.money(reserved);
  return expression === null ? amount : t('task.bill.reserved', { amount });
}

function explain({ status, bill }: BilledTask, t: TFunction, format: Format): string {
  if (bill.expression === null) return t('task.bill.free');
  const estimate = format.money(bill.reserved);
  if (bill.settled === null || bill.difference === null) return t('task.bill.running');
  if (status === 'FAILURE') return t('task.bill.failed', { amount: estimate });
  if (bill.usd === null) return t('task.bill.kept');
  if (bill.difference === 0) return t('task.bill.exact');
  const difference = format.money(Math.abs(bill.difference));
  return t(bill.difference < 0 ? 'task.bill.less' : 'task.bill.more', { estimate, difference });
}

/** Ordered quantities, and delivered ones where they differ. */
function Quantities({ task }: { task: BilledTask }) {
  const { t } = useTranslation();
  const { bill, platform, model } = task;
  const labels = useUsageLabels(platform, model);
  const delivered = { ...bill.submission_facts, ...bill.completion_facts };
  const isChanged = (name: string): boolean => delivered[name] !== undefined && delivered[name] !== bill.facts[name];
  const hasDelivered = Object.keys(delivered).some(isChanged);
  const names = [...new Set([...Object.keys(bill.facts), ...Object.keys(delivered)])];
  if (names.length === 0) return null;
  const format = (name: string, value: unknown): string => (value === undefined ? '–' : labels.format(name, value));
  return (
    <table className={classes.quantities} aria-label={t('task.bill.quantities')}>
      <thead>
        <tr>
          <th {...(hasDelivered ? { scope: 'col' } : { scope: 'colgroup', colSpan: 2 })}>
            {t(isEstimate(task) ? 'task.bill.estimate' : 'task.bill.quantity')}
          </th>
          {hasDelivered && <th scope="col">{t('task.bill.ordered')}</th>}
          {hasDelivered && <th scope="col">{t('task.bill.delivered')}</th>}
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row" title={labels.describe(name) || undefined}>
              {labels.label(name)}
            </th>
            <td>{format(name, bill.facts[name])}</td>
            {hasDelivered && (
              <td data-changed={isChanged(name) || undefined}>{format(name, delivered[name] ?? bill.facts[name])}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The price in one line where it is an amount times a quantity, and its formula. */
function Price({ task, isExplained }: { task: BilledTask; isExplained: boolean }) {
  const { t } = useTranslation();
  const isRefunded = wasRefunded(task);
  const line = usePriceLine(toCalculation(task));
  return (
    <>
      {line !== null && <p className={classes.line}>{isRefunded ? t('task.bill.refunded', { line }) : line}</p>}
      <Collapsible label={t('task.bill.how')} forceOpen={isExplained && line === null}>
        <PriceCalculation bill={task.bill} />
      </Collapsible>
    </>
  );
}

const wasRefunded = ({ status, bill }: BilledTask): boolean =>
  status === 'FAILURE' && bill.settled === 0 && bill.reserved > 0;

export function toCalculation(task: BilledTask): Calculation {
  const { bill, platform, model } = task;
  return {
    ...{ platform, model, expression: bill.expression, steps: bill.steps, ratio: bill.group_ratio },
    facts: isEstimate(task) ? bill.facts : { ...bill.facts, ...bill.submission_facts, ...bill.completion_facts },
    charged: wasRefunded(task) ? bill.reserved : bill.settled,
  };
}

/** The last but one step of a bill, where it is a product of two numbers. */
const product = /^([\d.e-]+) \* ([\d.e-]+) = \S+ USD$/;

type Calculation = Pick<Bill, 'expression' | 'steps'> & {
  platform: string;
  model: string;
  facts: Readonly<Record<string, unknown>>;
  ratio: number;
  /** Null: nothing was charged yet. */
  charged: number | null;
};

/** "4 sec × $0.04 / second (720p) = $0.16"; null for a price that is more than that. */
export function usePriceLine(calculation: Calculation): string | null {
  const format = useFormat();
  const price = usePriceFactors(calculation);
  return price && `${price.factors} = ${format.money(price.amount)}`;
}

/** "4 sec × $0.04 / second (720p)" and what it makes. */
export function usePriceFactors({
  platform,
  model,
  expression,
  steps,
  facts,
  ratio,
  charged,
}: Calculation): { factors: string; amount: number } | null {
  const { t } = useTranslation();
  const format = useFormat();
  const labels = useUsageLabels(platform, model);
  const toWords = usePriceWords();
  const names = [...new Set([...(expression ?? '').matchAll(/\bu\(["']([^"']+)["']\)/g)].map(([, name]) => `${name}`))];
  const [name, ...others] = names.filter((each) => typeof facts[each] === 'number');
  const [, one, other] = product.exec(steps.at(-2) ?? '') ?? [];
  if (name === undefined || others.length > 0 || one === undefined || other === undefined) return null;
  const quantity = Number(facts[name]);
  if (quantity !== Number(one) && quantity !== Number(other)) return null;
  const usd = Number(quantity === Number(one) ? other : one);
  const amount = Math.round(quantity * usd * QUOTA_PER_USD * ratio);
  // What was charged may be less: never more than was accepted.
  if (charged !== null && charged !== 0 && Math.abs(charged - amount) > 1) return null;
  const price = toWords({ kind: 'amount', usd, per: [name] }, labels.units, labels.names).short;
  const choices = names.flatMap((each) => (typeof facts[each] === 'string' ? [facts[each]] : []));
  const factors = [
    labels.format(name, quantity),
    choices.length === 0 ? price : `${price} (${choices.join(', ')})`,
    ...(ratio === 1 ? [] : [t('task.bill.groupRatio', { ratio: format.number(ratio) })]),
  ];
  return { factors: factors.join(' × '), amount };
}

function PriceCalculation({ bill }: { bill: Bill }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Stack gap="sm">
      <Text size="sm">{t('task.bill.rule')}</Text>
      <Code block className={classes.code}>
        {bill.expression}
      </Code>
      {bill.steps.length > 1 && (
        <>
          <Text size="sm">{t('task.bill.steps')}</Text>
          <Code block className={classes.code}>
            {bill.steps.slice(0, -1).join('\n')}
          </Code>
        </>
      )}
      {bill.group_ratio !== 1 && (
        <Text size="sm">{t('task.bill.ratio', { group: bill.group, ratio: format.number(bill.group_ratio) })}</Text>
      )}
    </Stack>
  );
}

type LedgerLine = TaskDetail['ledger'][number];

function ledgerLineText({ kind, amount }: LedgerLine): TextKey {
  if (kind === 'reserve') return 'task.ledger.reserve';
  if (kind === 'refund') return 'task.ledger.refund';
  if (kind === 'settle') return amount > 0 ? 'task.ledger.settleBack' : 'task.ledger.settleMore';
  return 'task.ledger.other';
}

function LedgerLines({ ledger }: { ledger: readonly LedgerLine[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <ul className={classes.bookings}>
      {ledger.map((line) => (
        <li key={`${line.kind} ${line.attempt} ${line.created_at}`}>
          <span>
            {t(ledgerLineText(line))}
            <span className={classes.at}>{format.time(line.created_at)}</span>
          </span>
          <span className={classes.booked}>{withSign(line.amount, format.money)}</span>
        </li>
      ))}
    </ul>
  );
}

type UsageLabels = {
  /** By the names of quantities. */
  units: Readonly<Record<string, string | null>>;
  names: FieldLabels;
  label(name: string): string;
  /** The plugin's description of a billed quantity; empty if it has none. */
  describe(name: string): string;
  /** The value with its unit. */
  format(name: string, value: unknown): string;
};

/** Labels for billed quantities from the plugin's schema, while the user may use its model. */
export function useUsageLabels(pluginKey: string, model: string): UsageLabels {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<CallableModel[]>('/api/model');
  const offer = data?.find((each) => each.plugin_key === pluginKey && each.model === model);
  const fields = offer?.schema.properties;
  return {
    units: Object.fromEntries(Object.entries(fields ?? {}).map(([name, field]) => [name, field['x-unit'] ?? null])),
    names: offer?.labels ?? {},
    label: (name) => labelField(offer?.labels, name, i18n.language),
    describe: (name) => localise(fields?.[name]?.['x-description'], i18n.language),
    format: (name, value) => {
      const field = fields?.[name];
      if (typeof value === 'boolean') return t(value ? 'app.yes' : 'app.no');
      if (typeof value === 'number') {
        if (field?.['x-unit'] === 'second') return format.duration(value);
        return `${format.number(value)} ${localise(field?.['x-unit-label'], i18n.language)}`.trim();
      }
      const choice = String(value);
      // "720p" says what it is.
      if (/^\d/.test(choice)) return choice;
      return labelChoice(choice, field?.['x-enum-labels']?.[choice], i18n.language);
    },
  };
}
