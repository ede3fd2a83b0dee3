import { Group, Select, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useRole } from '../../session/roles.ts';
import { roles } from '../../shell/navigation-sections.ts';
import { localise } from '../../i18n/localise.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import classes from './model-select.module.css';
import { offerKey } from './select-offer.ts';

type ChooseModelProps = {
  offers: readonly CallableModel[];
  chosen: CallableModel;
  onChoose(offer: CallableModel): void;
};

/** All models that one may use, grouped by plugin, to be searched by typing. */
export function ChooseModel({ offers, chosen, onChoose }: ChooseModelProps) {
  const { t, i18n } = useTranslation();
  // It stays chosen when it is no longer offered: only a person changes what is chosen.
  const groups = Map.groupBy(offers.includes(chosen) ? offers : [...offers, chosen], ({ plugin_name }) => plugin_name);
  // Pictures of plugins are for root alone; for others the letters stand in.
  const hasPicture = useRole() >= roles.root && chosen.icon?.startsWith('text:') === false;
  const icon = hasPicture ? `/api/plugin/task/${chosen.plugin_key}/icon` : undefined;
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
        value={offerKey(chosen)}
        onChange={(key) => {
          const offer = offers.find((candidate) => offerKey(candidate) === key);
          if (offer !== undefined) onChoose(offer);
        }}
      />
      <Group gap={12} wrap="nowrap" align="center">
        <PluginIcon name={chosen.plugin_name} icon={chosen.icon} path={icon} />
        <div>
          <Text size="sm" fw={550}>
            {chosen.plugin_name}
          </Text>
          <Text size="sm" c="dimmed">
            {localise(chosen.plugin_description, i18n.language)}
          </Text>
        </div>
      </Group>
    </div>
  );
}
