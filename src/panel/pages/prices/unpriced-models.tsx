import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UnpricedPluginModels } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { Section } from '../../ui/page/section.tsx';
import type { PriceSubject } from './price-dialog.tsx';
import classes from './prices.module.css';

type UnpricedModelsProps = { nameOf(key: string): string; onSet(subject: PriceSubject): void };

/** Offered models without a price. Models that no channel offers are left out. */
export function UnpricedModels({ nameOf, onSet }: UnpricedModelsProps) {
  const { t } = useTranslation();
  const unpriced = useApiQuery<UnpricedPluginModels[]>('/api/price/missing');
  const offered = (unpriced.data ?? [])
    .map(({ plugin_key: key, models }) => ({ key, models: models.filter(({ offered }) => offered) }))
    .filter(({ models }) => models.length > 0);
  if (unpriced.isError) return <ErrorNotice error={unpriced.error} />;
  if (offered.length === 0) return null;
  return (
    <Section heading={t('prices.missingHeading')} intro={t('prices.missingIntro')}>
      <Stack gap="md">
        {offered.map(({ key, models }) => (
          <div key={key}>
            <Group justify="space-between" mb={8}>
              <Text size="sm" c="dimmed">
                {nameOf(key)}
              </Text>
              {key !== '*' && (
                <Anchor component={Link} to={`/prices/${key}`} size="sm">
                  {t('prices.setAll')}
                </Anchor>
              )}
            </Group>
            <div className={classes.missing}>
              {models.map(({ model }) => (
                <Button
                  key={model}
                  variant="default"
                  size="xs"
                  onClick={() => onSet({ pluginKey: key, model, expression: '' })}
                >
                  {t('prices.setFor', { model })}
                </Button>
              ))}
            </div>
          </div>
        ))}
      </Stack>
    </Section>
  );
}
