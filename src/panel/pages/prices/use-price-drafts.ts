import { useState } from 'react';
import type { PluginPrices } from '../../api/types.ts';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { isEmptyDraft, listForms, type PriceDraft, type PriceForm, toDraft, toExpression } from './price-draft.ts';
import { useSavePrices } from './use-prices.ts';

type PricedPlugin = Pick<PluginPrices, 'plugin_key' | 'plugin_name' | 'facts'> & {
  models: readonly PricedModel[];
};
type PricedModel = PluginPrices['models'][number] & {
  /** What was charged in 30 days; the sheet of all plugins has it. */
  revenue?: number;
};

/** A model in a table of prices. */
export type PriceTableRow = {
  id: string;
  plugin: Omit<PricedPlugin, 'models'>;
  forms: readonly PriceForm[];
  model: PricedModel;
};

export const listPriceRows = (plugins: readonly PricedPlugin[]): PriceTableRow[] =>
  plugins.flatMap((plugin) => {
    const forms = listForms(plugin.facts);
    return plugin.models.map((model) => ({ id: `${plugin.plugin_key}/${model.model}`, plugin, forms, model }));
  });

export type PriceChange = { row: PriceTableRow; draft: PriceDraft; expression: string };

/** What was typed into a table of prices, and what saving it would change. */
export type PriceDrafts = {
  read(row: PriceTableRow): PriceDraft;
  change(rows: readonly PriceTableRow[], make: (row: PriceTableRow) => PriceDraft | null): void;
  discard(): void;
  changes: readonly PriceChange[];
  /** Models of which an amount is missing. */
  incomplete: ReadonlySet<string>;
  /** Saving was tried while amounts were missing. */
  isRefused: boolean;
  save(): void;
  isSaving: boolean;
  isSaved: boolean;
  error: Error | null;
};

/** There is something to save, or to complete before. */
export const hasPriceChanges = ({ changes, incomplete }: PriceDrafts): boolean => changes.length + incomplete.size > 0;

export function usePriceDrafts(rows: readonly PriceTableRow[]): PriceDrafts {
  const [drafts, setDrafts] = useState<Readonly<Record<string, PriceDraft>>>({});
  const [isTried, setTried] = useState(false);
  const read = (row: PriceTableRow): PriceDraft => drafts[row.id] ?? toDraft(row.model.price, row.forms);
  const edited = rows
    .filter((row) => drafts[row.id] !== undefined && !isEmptyDraft(read(row)))
    .map((row) => ({ row, draft: read(row), expression: toExpression(read(row), row.forms) }));
  const changes = edited.flatMap(({ expression, ...change }) =>
    expression === null || expression === change.row.model.price?.expression ? [] : [{ ...change, expression }],
  );
  const incomplete = new Set(edited.flatMap(({ row, expression }) => (expression === null ? row.id : [])));
  const discard = (): void => {
    setDrafts({});
    setTried(false);
  };
  const saving = useSavePrices(discard);
  useUnsavedChanges(() => edited.length > 0 && !saving.isPending);
  return {
    read,
    change: (targets, make) =>
      setDrafts((before) => ({
        ...before,
        ...Object.fromEntries(
          targets.flatMap((row) => {
            const draft = make(row);
            return draft === null ? [] : [[row.id, draft] as const];
          }),
        ),
      })),
    discard,
    changes,
    incomplete,
    isRefused: isTried && incomplete.size > 0,
    save: () => {
      setTried(true);
      if (incomplete.size > 0) return;
      saving.mutate(
        changes.map(({ row, expression }) => ({
          ...{ plugin_key: row.plugin.plugin_key, model: row.model.model, expression },
        })),
      );
    },
    isSaving: saving.isPending,
    isSaved: saving.isSuccess && edited.length === 0,
    error: saving.error,
  };
}
