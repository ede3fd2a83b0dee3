import { Group, Select, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel, PluginSummary } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { localise } from '../../i18n/localise.ts';
import { roles, useRole } from '../../session/roles.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import classes from './model-select.module.css';
import { offerKey } from './select-offer.ts';

type ModelSelectProps = {
  offers: readonly CallableModel[];
  selected: CallableModel;
  onSelect(offer: CallableModel): void;
};

/** A searchable list of the models that the user may use, grouped by plugin. */
export function ModelSelect({ offers, selected, onSelect }: ModelSelectProps) {
  const { t, i18n } = useTranslation();
  // A model that is no longer offered stays selected: only the user changes the selection.
  const groups = Map.groupBy(
    offers.includes(selected) ? offers : [...offers, selected],
    ({ plugin_name }) => plugin_name,
  );
  // Only root can load plugin pictures; others see the vendor's logo or initials.
  const plugins = useApiQuery<PluginSummary[]>('/api/plugin/task', { enabled: useRole() >= roles.root });
  const hasPicture = plugins.data?.some(({ key, has_icon: hasIcon }) => key === selected.plugin_key && hasIcon);
  const icon = hasPicture ? `/api/plugin/task/${selected.plugin_key}/icon` : undefined;
  return (
    <div className={classes.choice}>
      <Select
        label={t('play.model')}
        searchable
        allowDeselect={false}
        nothingFoundMessage={t('play.noModel')}
        maxDropdownHeight={360}
        data={[...groups].map(([group, members]) => ({
          group,
          items: members.map((offer) => ({ value: offerKey(offer), label: offer.model })),
        }))}
        value={offerKey(selected)}
        onChange={(key) => {
          const offer = offers.find((candidate) => offerKey(candidate) === key);
          if (offer !== undefined) onSelect(offer);
        }}
      />
      <Group gap={12} wrap="nowrap" align="center">
        <PluginIcon name={selected.plugin_name} icon={selected.icon} path={icon} />
        <div>
          <Text size="sm" fw={550}>
            {selected.plugin_name}
          </Text>
          <Text size="sm" c="dimmed">
            {localise(selected.plugin_description, i18n.language)}
          </Text>
        </div>
      </Group>
    </div>
  );
}
