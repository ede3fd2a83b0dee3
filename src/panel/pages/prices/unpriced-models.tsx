import { Button, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { UnpricedModels } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { Section } from '../../ui/page/section.tsx';
import type { PriceSubject } from './price-dialog.tsx';
import classes from './prices.module.css';

type MissingPricesProps = { nameOf(key: string): string; onSet(subject: PriceSubject): void };

/**
 * Models that clients can ask for and that cost nothing yet. Those that no channel offers can wait.
 */
export function MissingPrices({ nameOf, onSet }: MissingPricesProps) {
  const { t } = useTranslation();
  const missing = useApi<UnpricedModels[]>('/api/price/missing');
  const wanted = (missing.data ?? [])
    .map(({ plugin_key: key, models }) => ({ key, models: models.filter(({ offered }) => offered) }))
    .filter(({ models }) => models.length > 0);
  if (missing.isError) return <FailureNotice error={missing.error} />;
  if (wanted.length === 0) return null;
  return (
    <Section heading={t('prices.missingHeading')} intro={t('prices.missingIntro')}>
      <Stack gap="md">
        {wanted.map(({ key, models }) => (
          <div key={key}>
            <Text size="sm" c="dimmed" mb={8}>
              {nameOf(key)}
            </Text>
            <div className={classes.missing}>
              {models.map(({ model }) => (
                <Button
                  key={model}
                  variant="default"
                  size="compact-md"
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
