import { Anchor, Stack, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import { useStatus } from '../../session/use-status.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { type CodeLanguage, codeWriters } from '../playground/write-code.ts';

/** Names of themselves, in every language. */
const names: Readonly<Record<CodeLanguage, string>> = { curl: 'curl', python: 'Python', javascript: 'JavaScript' };
const languages = Object.keys(names) as CodeLanguage[];

/** A first request for the shell, Python and JavaScript: of a model that can be asked for now. */
export function KeySnippets() {
  const { t } = useTranslation();
  const status = useStatus();
  const models = useApi<CallableModel[]>('/api/model');
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const offer = models.data?.find(({ blocked }) => blocked === null) ?? models.data?.[0];
  const url = `${origin}${offer?.surfaces.generic ?? '/v1/tasks/demo'}`;
  const body = { model: offer?.model ?? 'demo-video', prompt: t('keys.samplePrompt') };
  return (
    <Stack gap="md">
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List aria-label={t('keys.languages')} mb="md">
          {languages.map((language) => (
            <Tabs.Tab key={language} value={language}>
              {names[language]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {languages.map((language) => (
          <Tabs.Panel key={language} value={language}>
            <CopyField text={codeWriters[language]({ url, body })} />
          </Tabs.Panel>
        ))}
      </Tabs>
      <Text size="sm" c="dimmed" lh={1.6}>
        {t('keys.afterwards', { path: '/v1/tasks/{id}' })}{' '}
        <Anchor href="/api/docs" inherit underline="always">
          {t('home.reference')}
        </Anchor>
      </Text>
    </Stack>
  );
}
