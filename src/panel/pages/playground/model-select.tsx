import { CheckIcon, Group, Select, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel, ModelCard, PluginSummary, TaskSummary } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useLocalisedQuery } from '../../session/use-api.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import classes from './model-select.module.css';
import playground from './playground.module.css';

type ModelSelectProps = {
  offers: readonly CallableModel[];
  selected: CallableModel;
  onSelect(offer: CallableModel): void;
};

/** A searchable list of the models that the user may use, grouped by plugin. */
export function ModelSelect({ offers, selected, onSelect }: ModelSelectProps) {
  const { t } = useTranslation();
  const words = usePriceWords();
  const formatPrice = ({ price: { summary }, schema, labels }: CallableModel): string => {
    if (summary === null) return '';
    const units = summary.per.map((fact) => [fact, schema.properties[fact]?.['x-unit'] ?? null] as const);
    // What tokens cost is said by the million, which the schema of a request does not tell.
    return units.every(([, unit]) => unit !== null) ? words(summary, Object.fromEntries(units), labels).short : '';
  };
  // A model that is no longer offered stays selected: only the user changes the selection.
  const groups = Map.groupBy(
    offers.includes(selected) ? offers : [...offers, selected],
    ({ plugin_name }) => plugin_name,
  );
  return (
    <Select
      label={t('play.model')}
      searchable
      allowDeselect={false}
      nothingFoundMessage={t('play.noModel')}
      maxDropdownHeight={360}
      comboboxProps={{ withinPortal: false, width: 320, position: 'bottom-start' }}
      data={[...groups].map(([group, members]) => ({
        group,
        items: members.map((offer) => ({ value: offerKey(offer), label: offer.model })),
      }))}
      value={offerKey(selected)}
      renderOption={({ option, checked }) => {
        const offer = offers.find((each) => offerKey(each) === option.value);
        return (
          <span className={classes.option}>
            <CheckIcon size={12} aria-hidden="true" data-checked={checked || undefined} />
            <span>{option.label}</span>
            <span>{offer && formatPrice(offer)}</span>
          </span>
        );
      }}
      onChange={(key) => {
        const offer = offers.find((candidate) => offerKey(candidate) === key);
        if (offer !== undefined) onSelect(offer);
      }}
    />
  );
}

/** Shows the plugin that serves the model, and what it makes. */
export function PluginBrief({ offer }: { offer: CallableModel }) {
  const { i18n } = useTranslation();
  // Only root can load plugin pictures; others see the vendor's logo or initials.
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task', { enabled: useRole() >= roles.root });
  const hasPicture = plugins.data?.some(({ key, has_icon: hasIcon }) => key === offer.plugin_key && hasIcon);
  const icon = hasPicture ? `/api/plugin/task/${offer.plugin_key}/icon` : undefined;
  return (
    <Group gap={12} wrap="nowrap" align="center" className={playground.plugin ?? ''}>
      <PluginIcon name={offer.plugin_name} icon={offer.icon} path={icon} />
      <div>
        <Text size="sm" fw={550}>
          {offer.plugin_name}
        </Text>
        <Text size="sm" c="dimmed">
          {localise(offer.plugin_description, i18n.language)}
        </Text>
      </div>
    </Group>
  );
}

/** The model that a URL or a task names; `plugin` is null if any plugin will do. */
export type RequestedModel = { model: string; plugin: string | null };

/**
 * `unavailable` names the requested model if another one was selected, possibly at another price.
 */
export type OfferSelection = { offer: CallableModel; unavailable: string | null };

/** The key of an offer: several plugins may offer the same model. */
export const offerKey = ({ plugin_key, model }: Pick<CallableModel, 'plugin_key' | 'model'>): string =>
  `${plugin_key}/${model}`;

export const isSameModel = (one: RequestedModel | null, other: RequestedModel | null): boolean =>
  one?.model === other?.model && one?.plugin === other?.plugin;

export function readRequestedModel(params: URLSearchParams): RequestedModel | null {
  const model = params.get('model');
  return model === null ? null : { model, plugin: params.get('plugin') };
}

type Succeeded = Pick<ModelCard, 'plugin_key' | 'model' | 'success_rate'>;

/**
 * The model to begin with: that of the latest task, else the one whose tasks succeed most often.
 * Null: neither is known, or can be run.
 */
export function usualModel(
  offers: readonly CallableModel[],
  { latest, cards }: { latest: readonly Pick<TaskSummary, 'model' | 'platform'>[]; cards: readonly Succeeded[] },
): RequestedModel | null {
  const runnable = new Set(offers.filter(({ blocked }) => blocked === null).map(offerKey));
  const used = latest.find(({ model, platform }) => runnable.has(offerKey({ plugin_key: platform, model })));
  if (used !== undefined) return { model: used.model, plugin: used.platform };
  const [best] = cards
    .filter(({ plugin_key: key, model }) => key !== null && runnable.has(offerKey({ plugin_key: key, model })))
    .filter(({ success_rate: rate }) => (rate ?? 0) > 0)
    .sort((a, b) => (b.success_rate ?? 0) - (a.success_rate ?? 0));
  return best === undefined ? null : { model: best.model, plugin: best.plugin_key };
}

/**
 * Selects the requested model, else the same model of another plugin, else `fallback`, else the
 * first available offer. `offers` must not be empty.
 */
export function selectOffer(
  offers: readonly CallableModel[],
  requested: RequestedModel | null,
  fallback?: CallableModel,
): OfferSelection {
  const sameModel = offers.filter(({ model }) => model === requested?.model);
  const exactMatch =
    requested?.plugin == null ? sameModel[0] : sameModel.find(({ plugin_key }) => plugin_key === requested.plugin);
  const offer = exactMatch ?? sameModel[0] ?? fallback ?? offers.find(({ blocked }) => blocked === null) ?? offers[0];
  return {
    offer: offer as CallableModel,
    unavailable: requested === null || exactMatch !== undefined ? null : modelLabel(requested),
  };
}

const modelLabel = ({ model, plugin }: RequestedModel): string => (plugin === null ? model : `${model} (${plugin})`);
