import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { PluginSummary, UnpricedPluginModels } from '../../api/types.ts';
import { useApiQuery, useLocalisedQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PriceDialog, type PriceSubject } from './price-dialog.tsx';
import { PriceList } from './price-list.tsx';
import classes from './prices.module.css';
import { useAllPrices } from './use-prices.ts';

/** The prices of all models, and the models without one. */
export function PricesPage() {
  const { t } = useTranslation();
  const prices = useAllPrices();
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
  const [subject, setSubject] = useState<PriceSubject | null>(null);
  const toName = (key: string): string =>
    key === '*' ? t('prices.everyPlugin') : (plugins.data?.find((each) => each.key === key)?.meta?.name ?? key);
  const add = (
    <Button
      leftSection={<IconPlus size={18} stroke={1.6} aria-hidden="true" />}
      onClick={() => setSubject({ pluginKey: '*', model: '', expression: '', summary: null })}
    >
      {t('prices.add')}
    </Button>
  );
  return (
    <Page
      heading={t('nav.prices')}
      intro={t('prices.intro')}
      actions={
        <>
          <Button component={Link} to="/prices/sheet" variant="default">
            {t('sheet.open')}
          </Button>
          {prices.data?.length !== 0 && add}
        </>
      }
    >
      <UnpricedModels toName={toName} onSet={setSubject} />
      <PriceList
        toName={toName}
        onEdit={setSubject}
        empty={
          <EmptyState
            heading={t('prices.empty')}
            text={t('prices.emptyText')}
            action={
              <Group gap="md" justify="center">
                {add}
                <Anchor component={Link} to="/settings/billing" size="sm">
                  {t('nav.settings')}
                </Anchor>
              </Group>
            }
          />
        }
      />
      <PriceDialog subject={subject} onClose={() => setSubject(null)} />
    </Page>
  );
}

type UnpricedModelsProps = { toName(key: string): string; onSet(subject: PriceSubject): void };

/** Offered models without a price. Models that no channel offers are left out. */
function UnpricedModels({ toName, onSet }: UnpricedModelsProps) {
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
                {toName(key)}
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
                  onClick={() => onSet({ pluginKey: key, model, expression: '', summary: null })}
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
