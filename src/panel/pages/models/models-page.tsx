import { Button, Modal, Text } from '@mantine/core';
import { IconCode, IconPlayerPlay } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ModelCard as Model, ModelCatalog } from '../../api/types.ts';
import { localise } from '../../i18n/localise.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { quotaPerUsd, useFormat } from '../../ui/display/use-format.ts';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { Page } from '../../ui/page/page.tsx';
import { CodeTabs } from '../playground/code-tabs.tsx';
import { playgroundPath } from '../playground/playground-path.ts';
import classes from './models.module.css';

/** `/models`: the models that the user may call, with what each costs and how it does. */
export function ModelsPage() {
  const { t } = useTranslation();
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog');
  return (
    <Page heading={t('nav.models')} intro={t('models.intro')}>
      <QueryResult query={catalog}>
        {({ items, total }) =>
          items.length === 0 ? (
            <EmptyState heading={t('models.none')} text={t('models.noneText')} />
          ) : (
            <ModelCards models={items} hidden={total - items.length} />
          )
        }
      </QueryResult>
    </Page>
  );
}

/** Below so many nobody needs a search. */
const searchFrom = 9;
/** Cards that are drawn at once: a page of hundreds is slow to paint, and nobody reads it. */
const cardsAtOnce = 60;

function ModelCards({ models, hidden }: { models: readonly Model[]; hidden: number }) {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const words = query.trim().toLowerCase().split(/\s+/);
  const found = models.filter(({ model, plugin_name: plugin }) => {
    const text = `${model} ${plugin ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const shown = found.slice(0, cardsAtOnce);
  const left = found.length - shown.length + hidden;
  return (
    <>
      {models.length >= searchFrom && (
        <SearchField
          aria-label={t('models.search')}
          placeholder={t('models.search')}
          maw={360}
          value={query}
          onChange={({ currentTarget }) => setQuery(currentTarget.value)}
        />
      )}
      {found.length === 0 && <Text c="dimmed">{t('models.notFound')}</Text>}
      <ul className={classes.cards}>
        {shown.map((model) => (
          <ModelCard key={`${model.plugin_key}/${model.model}`} model={model} />
        ))}
      </ul>
      {left > 0 && (
        <Text size="sm" c="dimmed">
          {t('models.more', { count: left })}
        </Text>
      )}
    </>
  );
}

/** One model: who makes it, what it costs, how long it takes, and how to call it. */
function ModelCard({ model: card }: { model: Model }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const id = useId();
  const [isCodeOpen, setCodeOpen] = useState(false);
  const { model, plugin_key: pluginKey } = card;
  const description = localise(card.description, i18n.language);
  const facts = [
    [t('models.time'), card.usual_seconds === null ? null : format.duration(card.usual_seconds)],
    [t('models.success'), card.success_rate === null ? null : format.percent(card.success_rate)],
  ] as const;
  return (
    <li className={classes.card} aria-labelledby={id}>
      <div className={classes.head}>
        <PluginIcon name={card.plugin_name ?? 'API'} icon={card.icon} size={34} />
        <div className={classes.names}>
          <h2 id={id}>{model}</h2>
          <Text size="sm" c="dimmed" truncate {...(description === '' ? {} : { title: description })}>
            {card.plugin_name ?? t('models.relayed')}
          </Text>
        </div>
      </div>
      <ModelPrice card={card} />
      <dl className={classes.facts}>
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value ?? '–'}</dd>
          </div>
        ))}
      </dl>
      {card.suspended && (
        <Text size="sm" c="var(--mantine-color-error)">
          {t('models.suspended')}
        </Text>
      )}
      <div className={classes.actions}>
        {pluginKey !== null && (
          <Button
            component={Link}
            to={playgroundPath(pluginKey, model)}
            aria-label={t('models.tryOf', { model })}
            leftSection={<IconPlayerPlay size={16} stroke={1.6} aria-hidden="true" />}
          >
            {t('models.try')}
          </Button>
        )}
        <Button
          variant="default"
          aria-label={t('models.codeOf', { model })}
          leftSection={<IconCode size={17} stroke={1.6} aria-hidden="true" />}
          onClick={() => setCodeOpen(true)}
        >
          {t('models.code')}
        </Button>
      </div>
      <Modal
        opened={isCodeOpen}
        onClose={() => setCodeOpen(false)}
        size="lg"
        title={t('models.codeTitle', { model })}
        closeButtonProps={{ 'aria-label': t('app.close') }}
      >
        <ModelCode card={card} />
      </Modal>
    </li>
  );
}

function ModelPrice({ card: { price, units, labels } }: { card: Model }) {
  const { t } = useTranslation();
  const words = usePriceWords();
  const format = useFormat();
  const [first, ...others] = price.examples;
  const exampleWords = ({ label, usd }: Model['price']['examples'][number]): string =>
    t('models.priceExample', { amount: format.money(usd * quotaPerUsd), request: label });
  if (!price.priced) return <p className={classes.price}>{t('models.noPrice')}</p>;
  if (price.summary === null) {
    return (
      <div>
        <p className={classes.price}>{first === undefined ? t('models.priceVaries') : exampleWords(first)}</p>
        {others.length > 0 && (
          <Text size="xs" c="dimmed" lh={1.5}>
            {others.map(exampleWords).join(' · ')}
          </Text>
        )}
        {price.expression !== null && <code className={classes.expression}>{price.expression}</code>}
      </div>
    );
  }
  const { short, rows } = words(price.summary, units, labels);
  return (
    <div>
      <p className={classes.price}>{short}</p>
      {rows.length > 0 && (
        <Text size="xs" c="dimmed" lh={1.5}>
          {rows.map(([value, amount]) => `${value}: ${amount}`).join(' · ')}
        </Text>
      )}
    </div>
  );
}

function ModelCode({ card: { model, plugin_key: pluginKey, sample } }: { card: Model }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  if (pluginKey === null) {
    return (
      <>
        <Text size="sm" mb="sm">
          {t('models.relayedCode', { model })}
        </Text>
        <CopyField text={`${origin}/v1`} />
      </>
    );
  }
  return (
    <CodeTabs url={`${origin}/v1/tasks/${pluginKey}`} body={{ model, prompt: t('keys.samplePrompt'), ...sample }} />
  );
}
