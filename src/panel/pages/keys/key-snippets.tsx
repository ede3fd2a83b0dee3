import { Anchor, Stack, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import { useStatus } from '../../session/use-status.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { writeSnippets } from './write-snippets.ts';

/** A first request with the key, for the shell, Python and JavaScript: of a model that can be asked for now. */
export function KeySnippets({ apiKey }: { apiKey: string }) {
  const { t } = useTranslation();
  const status = useStatus();
  const models = useApi<CallableModel[]>('/api/model');
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const offer = models.data?.find(({ blocked }) => blocked === null) ?? models.data?.[0];
  const plugin = offer?.plugin_key ?? 'demo';
  const snippets = writeSnippets({
    url: `${origin}/v1/tasks/${plugin}`,
    apiKey,
    body: { model: offer?.model ?? 'demo-video', prompt: t('keys.samplePrompt') },
  });
  return (
    <Stack gap="md">
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List aria-label={t('keys.languages')}>
          {snippets.map(({ language }) => (
            <Tabs.Tab key={language} value={language}>
              {language}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map(({ language, text }) => (
          <Tabs.Panel key={language} value={language} pt="md">
            <CopyField text={text} />
          </Tabs.Panel>
        ))}
      </Tabs>
      <Text size="sm" c="dimmed" lh={1.6}>
        {t('keys.afterwards', { path: '/v1/tasks/{id}' })}{' '}
        <Anchor href="/api/docs" size="sm">
          {t('home.reference')}
        </Anchor>
      </Text>
    </Stack>
  );
}
