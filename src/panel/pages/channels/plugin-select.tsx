import { type ComboboxData, Group, Select, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChannelChoices } from '../../api/types.ts';
import { localise } from '../../i18n/localise.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { pluginOf } from './channel-form-values.ts';
import classes from './channels.module.css';

type PluginSelectProps = {
  choices: ChannelChoices;
  value: string;
  onChange(source: string): void;
  error: string | null;
  /** Takes the input, to focus it. */
  inputRef(element: HTMLInputElement | null): void;
};

/** Selects the plugin that talks to the vendor, or the relay for OpenAI-compatible requests. */
export function PluginSelect({ choices, value, onChange, error, inputRef }: PluginSelectProps) {
  const { t, i18n } = useTranslation();
  const chosen = pluginOf(choices, value);
  const serving = choices.plugins.filter(({ key, serves }) => serves || key === value);
  const types = serving.flatMap(({ name, channel_types: declared }) =>
    declared.map((type) => ({ value: `type:${type}`, label: t('channels.ofType', { name, type }) })),
  );
  // The type of a stored channel whose plugin is gone.
  const isLost = value.startsWith('type:') && !types.some((type) => type.value === value);
  const data: ComboboxData = [
    ...(isLost ? [{ value, label: t('channels.typeUnknown', { type: value.slice(5) }) }] : []),
    ...serving.map(({ key, name }) => ({ value: key, label: name })),
    { value: 'relay', label: t('channels.relay') },
    ...(types.length === 0 ? [] : [{ group: t('channels.declaredTypes'), items: types }]),
  ];
  const describe = (source: string): string =>
    source === 'relay' ? t('channels.relayHelp') : localise(pluginOf(choices, source)?.description, i18n.language);
  return (
    <Select
      ref={inputRef}
      openOnFocus={false}
      label={t('channels.plugin')}
      description={value === '' ? t('channels.pluginHelp') : describe(value) || t('channels.pluginHelp')}
      placeholder={t('channels.pluginPlaceholder')}
      required
      searchable
      allowDeselect={false}
      data={data}
      value={value === '' ? null : value}
      onChange={(source) => onChange(source ?? '')}
      error={error}
      maxDropdownHeight={340}
      leftSection={value === '' ? undefined : <PluginIcon name={chosen?.name ?? 'API'} icon={chosen?.icon} size={22} />}
      renderOption={({ option }) => (
        <Group gap={12} wrap="nowrap" miw={0}>
          <PluginIcon
            name={option.value === 'relay' ? 'API' : option.label}
            icon={pluginOf(choices, option.value)?.icon}
            size={30}
          />
          <div className={classes.option}>
            <Text size="sm">{option.label}</Text>
            <Text size="xs" c="dimmed" truncate>
              {describe(option.value)}
            </Text>
          </div>
        </Group>
      )}
    />
  );
}
