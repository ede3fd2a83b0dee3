import { Button, Group, Text, TextInput } from '@mantine/core';
import { IconWorldSearch } from '@tabler/icons-react';
import { type KeyboardEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DiscoveredProvider } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';

/**
 * Fetches a provider's OpenID Connect endpoints, by the issuer's address or that of the discovery
 * document.
 */
export function DiscoverIssuer({ onFound }: { onFound(found: DiscoveredProvider): void }) {
  const { t } = useTranslation();
  const [address, setAddress] = useState('');
  const change = useApiMutation<string, DiscoveredProvider>({
    request: (url) => ({
      method: 'POST',
      path: '/api/custom-oauth-provider/discovery',
      body: url.includes('/.well-known/') ? { well_known_url: url } : { issuer_url: url },
    }),
    onSuccess: onFound,
  });
  const ask = (): void => {
    if (address.trim() !== '' && !change.isPending) change.mutate(address.trim());
  };
  // This is nested in another form: Enter must not submit that one.
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    ask();
  };
  return (
    <div>
      <Group gap="sm" align="end">
        <TextInput
          label={t('providers.issuer')}
          description={t('providers.issuerHelp')}
          placeholder="https://login.example.org/realms/main"
          inputMode="url"
          spellCheck={false}
          flex="1 1 280px"
          value={address}
          readOnly={change.isPending}
          onChange={(event) => setAddress(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <Button
          variant="default"
          leftSection={<IconWorldSearch size={18} stroke={1.6} aria-hidden="true" />}
          loading={change.isPending}
          onClick={ask}
        >
          {t('providers.discover')}
        </Button>
      </Group>
      <div aria-live="polite">
        {change.isSuccess && (
          <Text size="sm" c="dimmed" mt={8}>
            {t('providers.discovered', { issuer: change.data.issuer })}
          </Text>
        )}
      </div>
      {change.isError && <ErrorNotice error={change.error} />}
    </div>
  );
}
