import { Alert, PasswordInput, Stack, Text, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../api/types.ts';
import { localise } from '../../i18n/localise.ts';
import type { Form } from '../../ui/form/use-form.ts';
import { ExternalLink } from '../../ui/page/external-link.tsx';
import { type ChannelValues, isUnusualKey, keyFormatsOf, type PluginChoice } from './channel-form-values.ts';
import classes from './channels.module.css';

type KeyInputProps = { form: Form<ChannelValues>; stored: Channel | null; plugin: PluginChoice | undefined };

/** The vendor's credential, a key or a service account's file. The API never returns it. */
export function KeyInput({ form, stored, plugin }: KeyInputProps) {
  const { t, i18n } = useTranslation();
  const looks = useKeyLooks(plugin);
  const isServiceAccount = plugin?.credential === 'service_account';
  const hint = stored?.key_hint ?? '';
  const kept = hint === '' ? t('channels.keyKept') : t('channels.keyKeptHint', { hint });
  const help = [stored === null ? '' : kept, looks, localise(plugin?.key_help, i18n.language)];
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
    autoFocus: stored === null && plugin !== undefined,
    required: stored === null,
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
          placeholder={hint === '' ? '' : `•••••••• ${hint}`}
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
  const { single, joined } = keyFormatsOf(plugin);
  const listed = (formats: string[]): string =>
    new Intl.ListFormat(i18n.language, { type: 'disjunction' }).format(formats);
  if (single.length > 0 && joined.length > 0)
    return t('channels.keyPairOrOne', { pair: listed(joined), one: listed(single) });
  if (joined.length > 0) return t('channels.keyPair', { pair: listed(joined) });
  return single.length > 0 ? t('channels.keyLooks', { format: listed(single) }) : t('channels.keyOne');
}
