import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import fold from '../../ui/display/fold.module.css';
import { useFormat } from '../../ui/display/use-format.ts';
import { writeDollars } from '../../ui/form/decimal.ts';
import { expressionForm, plainAmount, readAmount, toDraft, toSummary } from './price-draft.ts';
import { PriceReplay } from './price-replay.tsx';
import classes from './price-sheet.module.css';
import { signShare, usePriceText, useWordsOfFacts } from './price-text.ts';
import { hasPriceChanges, type PriceChange, type PriceDrafts } from './use-price-drafts.ts';

/** Models whose change is spelled out. */
const mostNamed = 20;

/** The bar under a table of prices while there is something to save. */
export function PriceChanges({ drafts }: { drafts: PriceDrafts }) {
  return hasPriceChanges(drafts) && <ChangeBar drafts={drafts} />;
}

/** Says in words what saving would change. */
function ChangeBar({ drafts }: { drafts: PriceDrafts }) {
  const { t } = useTranslation();
  const format = useFormat();
  // Unfolded it hides what is edited.
  const [isOpen, setOpen] = useState(false);
  const [isReplaying, setReplaying] = useState(false);
  const { changes, incomplete, isSaving } = drafts;
  const count = changes.length + incomplete.size;
  const shares = changes.flatMap((change) => compareAmounts(change)?.flatMap(({ share }) => share ?? []) ?? []);
  const [low, high] = [Math.min(...shares), Math.max(...shares)].map((share) => signShare(share, format.percent));
  return (
    <section className={classes.bar} aria-label={t('sheet.changes')}>
      <details
        className={fold.fold}
        open={isOpen}
        onToggle={({ currentTarget }) => {
          setOpen(currentTarget.open);
          if (!currentTarget.open) setReplaying(false);
        }}
      >
        <summary>
          <span>
            {t('sheet.changing', { count, number: format.number(count) })}
            {shares.length > 0 && `: ${low === high ? low : t('sheet.fromTo', { low, high })}`}
            <Text span size="xs" c="dimmed" display="block">
              {t('prices.deleteText')}
            </Text>
          </span>
        </summary>
        <div className={classes.changes}>
          {incomplete.size === 0 && (
            <PriceReplay
              runsAtOnce={isReplaying}
              tried={{
                prices: changes.map(({ row: { plugin, model }, expression }) => ({
                  ...{ plugin_key: plugin.plugin_key, model: model.model, expression },
                })),
              }}
            />
          )}
          <div>
            <ul>
              {changes.slice(0, mostNamed).map((change) => (
                <ChangeLines key={change.row.id} change={change} />
              ))}
            </ul>
            <details className={`${fold.fold} ${classes.formulas}`}>
              <summary>{t('sheet.formulas')}</summary>
              <ul>
                {changes.slice(0, mostNamed).map(({ row: { id, model }, expression }) => (
                  <li key={id}>
                    <strong>{model.model}</strong> <code>{model.price?.expression ?? t('models.noPrice')}</code>
                    {' → '}
                    <code>{expression}</code>
                  </li>
                ))}
              </ul>
            </details>
          </div>
        </div>
      </details>
      <Group justify="flex-end" gap="sm">
        {!isOpen && incomplete.size === 0 && (
          <Button
            variant="default"
            onClick={() => {
              setOpen(true);
              setReplaying(true);
            }}
          >
            <span className={classes.long}>{t('replay.run')}</span>
            <span className={classes.short}>{t('replay.runShort')}</span>
          </Button>
        )}
        <Button variant="default" disabled={isSaving} onClick={drafts.discard}>
          {t('confirm.discard')}
        </Button>
        <Button loading={isSaving} onClick={drafts.save}>
          {t('prices.table.save')}
        </Button>
      </Group>
      {drafts.isRefused && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert" className={classes.refused ?? ''}>
          {t('prices.table.incomplete')}
        </Text>
      )}
    </section>
  );
}

/** Each amount that changes, or the whole of a price that counts something else. */
function ChangeLines({ change }: { change: PriceChange }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const say = usePriceText();
  const words = useWordsOfFacts();
  const { draft } = change;
  const { forms, plugin, model } = change.row;
  const { facts } = plugin;
  const summary = toSummary(draft, forms);
  const amounts = compareAmounts(change);
  if (amounts === null || summary === null) {
    return (
      <li>
        <strong>{model.model}</strong> {model.price === null ? t('models.noPrice') : say(model.price.summary, facts)}
        {' → '}
        {say(summary, facts)}
      </li>
    );
  }
  const { say: formatAmount } = words(summary, facts);
  const dollars = (text: string | undefined): string => writeDollars(text ?? '', i18n.language);
  return (
    <li>
      <strong>{model.model}</strong>{' '}
      {amounts.map(({ value, from, to, share }) => (
        <span key={value} className={value === plainAmount ? undefined : classes.part}>
          {value !== plainAmount && `${value} `}
          {formatAmount(`${dollars(from)} → ${dollars(to)}`)}
          {share !== null && ` (${signShare(share, format.percent)})`}
        </span>
      ))}
    </li>
  );
}

type AmountChange = { value: string; from: string | undefined; to: string | undefined; share: number | null };

/** The amounts that differ; null if the price counts something else than before. */
function compareAmounts({ row: { model, forms }, draft }: PriceChange): AmountChange[] | null {
  const old = toDraft(model.price, forms);
  if (model.price === null || draft.form === expressionForm || old.form !== draft.form) return null;
  const changed = Object.keys(draft.amounts).flatMap((value): AmountChange[] => {
    const [from, to] = [readAmount(old.amounts[value]), readAmount(draft.amounts[value])];
    if (from === to) return [];
    const share = from === null || from === 0 || to === null ? null : to / from - 1;
    return [{ value, from: old.amounts[value], to: draft.amounts[value], share }];
  });
  return changed.length === 0 ? null : changed;
}
