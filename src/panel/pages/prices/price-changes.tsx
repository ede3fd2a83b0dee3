import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PriceSheet } from '../../api/types.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { writeDecimal } from '../../ui/form/decimal.ts';
import {
  expressionForm,
  type Fact,
  type PriceDraft,
  type PriceForm,
  plainAmount,
  readAmount,
  toDraft,
  toSummary,
} from './price-draft.ts';
import { PriceReplay } from './price-replay.tsx';
import classes from './price-sheet.module.css';
import { usePriceText, useWordsOfFacts } from './price-text.ts';

type Change = {
  id: string;
  plugin_key: string;
  model: string;
  expression: string;
  before: PriceSheet[number]['models'][number]['price'];
  draft: PriceDraft;
  forms: readonly PriceForm[];
  facts: readonly Fact[];
};

type PriceChangesProps = { changes: readonly Change[]; isSaving: boolean; onDiscard(): void; onSave(): void };

/** Models whose change is spelled out. */
const mostNamed = 20;

/** The bar under the sheet: what saving would change, in words. */
export function PriceChanges({ changes, isSaving, onDiscard, onSave }: PriceChangesProps) {
  const { t } = useTranslation();
  const format = useFormat();
  // Unfolded it hides what is edited.
  const [isOpen, setOpen] = useState(false);
  const [isReplaying, setReplaying] = useState(false);
  const shares = changes.flatMap((change) => compareAmounts(change)?.flatMap(({ share }) => share ?? []) ?? []);
  const [low, high] = [Math.min(...shares), Math.max(...shares)].map((share) => signed(share, format.percent));
  return (
    <section className={classes.bar} aria-label={t('sheet.changes')}>
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          {t('sheet.changing', { count: changes.length, number: format.number(changes.length) })}
          {shares.length > 0 && `: ${low === high ? low : t('sheet.fromTo', { low, high })}`}
        </summary>
        <div className={classes.changes}>
          <ul>
            {changes.slice(0, mostNamed).map((change) => (
              <ChangeLines key={change.id} change={change} />
            ))}
          </ul>
          <details className={classes.formulas}>
            <summary>{t('sheet.formulas')}</summary>
            <ul>
              {changes.slice(0, mostNamed).map(({ id, model, before, expression }) => (
                <li key={id}>
                  <strong>{model}</strong> <code>{before?.expression ?? t('models.noPrice')}</code>
                  {' → '}
                  <code>{expression}</code>
                </li>
              ))}
            </ul>
          </details>
          <PriceReplay
            runsAtOnce={isReplaying}
            tried={{ prices: changes.map(({ plugin_key, model, expression }) => ({ plugin_key, model, expression })) }}
          />
        </div>
      </details>
      <Group justify="flex-end" gap="sm">
        {!isOpen && (
          <Button
            variant="default"
            className={classes.replay}
            onClick={() => {
              setOpen(true);
              setReplaying(true);
            }}
          >
            {t('replay.run')}
          </Button>
        )}
        <Button variant="default" disabled={isSaving} onClick={onDiscard}>
          {t('confirm.discard')}
        </Button>
        <Button loading={isSaving} onClick={onSave}>
          {t('prices.table.save', { count: changes.length })}
        </Button>
      </Group>
    </section>
  );
}

/** One line for each amount that changes, or one for a price that counts something else. */
function ChangeLines({ change }: { change: Change }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const say = usePriceText();
  const words = useWordsOfFacts();
  const { model, before, draft, forms, facts } = change;
  const summary = toSummary(draft, forms);
  const amounts = compareAmounts(change);
  if (amounts === null || summary === null) {
    return (
      <li>
        <strong>{model}</strong> {before === null ? t('models.noPrice') : say(before.summary, facts)}
        {' → '}
        {say(summary, facts)}
      </li>
    );
  }
  const { say: sayAmount } = words(summary, facts);
  const dollars = (text: string | undefined): string => `$${writeDecimal(text ?? '', i18n.language)}`;
  return amounts.map(({ value, from, to, share }) => (
    <li key={value}>
      <strong>{model}</strong> {value !== plainAmount && `${value} `}
      {sayAmount(`${dollars(from)} → ${dollars(to)}`)}
      {share !== null && ` (${signed(share, format.percent)})`}
    </li>
  ));
}

type AmountChange = { value: string; from: string | undefined; to: string | undefined; share: number | null };

/** The amounts that differ; null if the price counts something else than before. */
function compareAmounts({ before, draft, forms }: Change): AmountChange[] | null {
  const old = toDraft(before, forms);
  if (before === null || draft.form === expressionForm || old.form !== draft.form) return null;
  const changed = Object.keys(draft.amounts).flatMap((value): AmountChange[] => {
    const [from, to] = [readAmount(old.amounts[value]), readAmount(draft.amounts[value])];
    if (from === to) return [];
    const share = from === null || from === 0 || to === null ? null : to / from - 1;
    return [{ value, from: old.amounts[value], to: draft.amounts[value], share }];
  });
  return changed.length === 0 ? null : changed;
}

const signed = (share: number, percent: (share: number) => string): string =>
  `${share > 0 ? '+' : share < 0 ? '−' : ''}${percent(Math.abs(share))}`;
