import { Anchor, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { CallableModel, ModelCatalog } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { CodeTabs } from '../playground/code-tabs.tsx';
import { chooseSample, type Sample } from './choose-sample.ts';

type KeySnippetsProps = {
  apiKey: string;
  /** The models that the key may use; empty: all. */
  models: readonly string[];
};

/** A first request with the new key in curl, Python and JavaScript, for an available model. */
export function KeySnippets({ apiKey, models: allowed }: KeySnippetsProps) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog');
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  // The sample does not change under the reader's eyes.
  if (models.isPending || catalog.isPending) return null;
  const offered = { offers: models.data ?? [], cards: catalog.data?.items ?? [] };
  const prompt = t('keys.samplePrompt');
  const sample = chooseSample({ ...offered, allowed, prompt }) ?? placeholder(allowed[0], prompt);
  return (
    <Stack gap="md">
      <CodeTabs url={`${origin}${sample.path}`} body={sample.body} apiKey={apiKey} result={sample.result} />
      <Text size="sm" c="dimmed" lh={1.6}>
        {sample.follow !== null && `${t('keys.afterwards', { path: sample.follow })} `}
        <Anchor component={Link} to="/reference" inherit underline="always">
          {t('home.reference')}
        </Anchor>
      </Text>
    </Stack>
  );
}

/** Until there is a model to call: the names are those of the demo vendor. */
const placeholder = (model = 'demo-video', prompt: string): Sample => ({
  ...{ path: '/v1/videos', follow: '/v1/videos/{id}', result: 'id' },
  body: { model, prompt },
});
