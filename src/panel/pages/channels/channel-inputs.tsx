import {
  Alert,
  Anchor,
  type ComboboxData,
  Group,
  PasswordInput,
  Select,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconArrowRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ChannelChoices } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import type { Form } from '../../ui/form/use-form.ts';
import { ExternalLink } from '../../ui/page/links.tsx';
import {
  type ChannelValues,
  findPlugin,
  isUnusualKey,
  listKeyFormats,
  type PluginChoice,
  relayType,
} from './channel-form-values.ts';
import classes from './channels.module.css';
import { RowList } from './row-list.tsx';

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
  const chosen = findPlugin(choices, value);
  const serving = choices.plugins.filter(({ key, serves }) => serves || key === value);
  const types = serving.flatMap(({ name, channel_types: declared }) =>
    declared
      .filter((type) => type !== relayType)
      .map((type) => ({ value: `type:${type}`, label: t('channels.ofType', { name, type }) })),
  );
  const gateways = serving
    .filter((plugin) => plugin.addresses_gateways)
    .map(({ key, name }) => ({ value: `gateway:${key}`, label: t('channels.ofGateway', { name }) }));
  // The type of a stored channel whose plugin is gone.
  const isLost = value.startsWith('type:') && !types.some((type) => type.value === value);
  const data: ComboboxData = [
    ...(isLost ? [{ value, label: t('channels.typeUnknown', { type: value.slice(5) }) }] : []),
    ...serving.map(({ key, name }) => ({ value: key, label: name })),
    { value: 'relay', label: t('channels.relay') },
    ...(gateways.length === 0 ? [] : [{ group: t('channels.gateways'), items: gateways }]),
    ...(types.length === 0 ? [] : [{ group: t('channels.declaredTypes'), items: types }]),
  ];
  const describe = (source: string): string =>
    source === 'relay' ? t('channels.relayHelp') : localise(findPlugin(choices, source)?.description, i18n.language);
  return (
    <Select
      ref={inputRef}
      openOnFocus={false}
      label={t('channels.vendor')}
      description={
        describe(value) || (
          <>
            {t('channels.pluginHelp')}{' '}
            <Anchor component={Link} to="/marketplace" inherit>
              {t('channels.pluginFind')}
            </Anchor>
          </>
        )
      }
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
            icon={findPlugin(choices, option.value)?.icon}
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

type KeyInputProps = {
  form: Pick<Form<{ key: string }>, 'bind' | 'values'>;
  /** The end of the stored key, which may be empty; null if none is stored. */
  hint: string | null;
  plugin: PluginChoice | undefined;
};

/** The vendor's credential, a key or a service account's file. The API never returns it. */
export function KeyInput({ form, hint, plugin }: KeyInputProps) {
  const { t, i18n } = useTranslation();
  const looks = useKeyLooks(plugin);
  const isServiceAccount = plugin?.credential === 'service_account';
  const kept = hint === '' ? t('channels.keyKept') : t('channels.keyKeptHint', { hint });
  const help = [hint === null ? '' : kept, looks, localise(plugin?.key_help, i18n.language)];
  const common = {
    label: t(isServiceAccount ? 'channels.keyFile' : 'channels.key'),
    description: (
      <>
        {`${help.filter((text) => text !== '').join(' ')} `}
        {plugin !== undefined && plugin.key_url !== '' && (
          <ExternalLink address={plugin.key_url} name={t('channels.getKey')} />
        )}
      </>
    ),
    // The key is what comes next once the plugin is chosen.
    autoFocus: hint === null && plugin !== undefined,
    required: hint === null,
    spellCheck: false,
    ...form.bind('key'),
  };
  return (
    <Stack gap={6}>
      {isServiceAccount ? (
        <Textarea
          {...common}
          key={plugin?.key}
          autosize
          minRows={3}
          maxRows={10}
          placeholder={'{"type": "service_account", …}'}
          classNames={{ input: classes.code ?? '' }}
        />
      ) : (
        <PasswordInput
          {...common}
          key={plugin?.key}
          autoComplete="new-password"
          placeholder={hint ? `•••••••• ${hint}` : ''}
          visibilityToggleButtonProps={{ 'aria-label': t('channels.keyShowTyped') }}
        />
      )}
      <div role="status">
        {isUnusualKey(plugin, form.values.key) && (
          <Alert role="note" color="yellow" variant="light" py={8}>
            <Text size="sm">{t('channels.keyUnusual', { name: plugin?.name ?? '' })}</Text>
          </Alert>
        )}
      </div>
    </Stack>
  );
}

/** How a key of this vendor looks, as a sentence. */
function useKeyLooks(plugin: PluginChoice | undefined): string {
  const { t, i18n } = useTranslation();
  if (plugin?.credential === 'service_account') return t('channels.keyHelpFile');
  const { single, joined } = listKeyFormats(plugin);
  const listed = (formats: string[]): string =>
    new Intl.ListFormat(i18n.language, { type: 'disjunction' }).format(formats);
  if (single.length > 0 && joined.length > 0)
    return t('channels.keyPairOrOne', { pair: listed(joined), one: listed(single) });
  if (joined.length > 0) return t('channels.keyPair', { pair: listed(joined) });
  return single.length > 0 ? t('channels.keyLooks', { format: listed(single) }) : t('channels.keyOne');
}

type MappingRows = ChannelValues['model_mapping'];
type MappingInputProps = { rows: MappingRows; onChange(rows: MappingRows): void; error: string | null };

/** Maps model names of clients to model names of the vendor. */
export function MappingInput(props: MappingInputProps) {
  const { t } = useTranslation();
  return (
    <RowList
      {...props}
      legend={t('channels.mapping')}
      description={t('channels.mappingHelp')}
      emptyRow={{ from: '', to: '' }}
      addLabel={t('channels.mappingAdd')}
      removeLabel={(number) => t('channels.mappingRemove', { number })}
      rowClass={classes.mappingRow}
    >
      {(row, change, number) => (
        <>
          <TextInput
            aria-label={t('channels.mappingFrom', { number })}
            placeholder={t('channels.mappingFromExample')}
            value={row.from}
            onChange={(event) => change({ from: event.currentTarget.value })}
            spellCheck={false}
          />
          <IconArrowRight size={16} stroke={1.6} aria-hidden="true" />
          <TextInput
            aria-label={t('channels.mappingTo', { number })}
            placeholder={t('channels.mappingToExample')}
            value={row.to}
            onChange={(event) => change({ to: event.currentTarget.value })}
            spellCheck={false}
          />
        </>
      )}
    </RowList>
  );
}
