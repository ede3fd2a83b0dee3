import { Anchor, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { CallableModel } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { CodeTabs } from '../playground/code-tabs.tsx';

/** A first request with the new key in curl, Python and JavaScript, for an available model. */
export function KeySnippets({ apiKey }: { apiKey: string }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const offer = models.data?.find(({ blocked }) => blocked === null) ?? models.data?.[0];
  const url = `${origin}${offer?.surfaces.generic ?? '/v1/tasks/demo'}`;
  const body = { model: offer?.model ?? 'demo-video', prompt: t('keys.samplePrompt') };
  return (
    <Stack gap="md">
      <CodeTabs url={url} body={body} apiKey={apiKey} />
      <Text size="sm" c="dimmed" lh={1.6}>
        {t('keys.afterwards', { path: '/v1/tasks/{id}' })}{' '}
        <Anchor component={Link} to="/reference" inherit underline="always">
          {t('home.reference')}
        </Anchor>
      </Text>
    </Stack>
  );
}
