import { Button, Modal, SegmentedControl, Skeleton, Text } from '@mantine/core';
import { IconCode, IconPlayerPlay } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import type { CallableModel, ModelCard as Model, ModelCatalog, TaskFeed, TaskSummary } from '../../api/types.ts';
import { localise, type TextKey } from '../../i18n/texts.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery, useReadAhead } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { Page } from '../../ui/page/page.tsx';
import { surfaceFor } from '../keys/choose-sample.ts';
import { KeyLinks, RequestTabs } from '../playground/code-tabs.tsx';
import { guessMedium, type Medium } from '../playground/find-medium.ts';
import { playgroundPath } from '../plugins/plugin-paths.ts';
import { TaskPoster } from '../tasks/task-poster.tsx';
import classes from './models.module.css';
import { NoModels } from './no-models.tsx';
import { sayAbilities } from './say-abilities.ts';

/** `/models`: the models that the user may call, with what each costs and how it does. */
export function ModelsPage() {
  const { t } = useTranslation();
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog');
  useReadAhead(resultsPath, offersPath);
  return (
    <Page heading={t('nav.models')} intro={t('models.intro')}>
      <QueryResult query={catalog}>
        {({ items, total }) =>
          items.length === 0 ? <NoModels /> : <ModelCards models={items} hidden={total - items.length} />
        }
      </QueryResult>
    </Page>
  );
}

/** With fewer than this nobody needs a search. */
const searchFrom = 9;
/** Cards that are drawn at once: a page of hundreds is slow to paint, and nobody reads it. */
const cardsAtOnce = 60;

/** What each model takes stands in its form. */
const offersPath = '/api/model';
const resultsPath = '/api/task/feed?status=SUCCESS&limit=100';

/** The reader's latest results, one a model: what it looks like says more than its name. */
function useLatestResults(): ReadonlyMap<string, TaskSummary> {
  const feed = useApiQuery<TaskFeed>(resultsPath);
  const results = new Map<string, TaskSummary>();
  for (const task of feed.data?.items ?? []) {
    const key = `${task.platform}/${task.model}`;
    if (!results.has(key)) results.set(key, task);
  }
  return results;
}

const mediumTexts = {
  video: 'models.medium.video',
  image: 'models.medium.image',
  music: 'models.medium.music',
  speech: 'models.medium.speech',
  sound: 'models.medium.sound',
  lyrics: 'models.medium.lyrics',
  text: 'models.medium.text',
} as const satisfies Record<Medium | 'text', TextKey>;
type CardMedium = keyof typeof mediumTexts;

function findCardMedium({ model, plugin_key: pluginKey, units }: Model): CardMedium {
  if (pluginKey === null) return 'text';
  return guessMedium(model, Object.keys(units));
}

function ModelCards({ models, hidden }: { models: readonly Model[]; hidden: number }) {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const [medium, setMedium] = useState<CardMedium | ''>('');
  const results = useLatestResults();
  const { data: offers } = useApiQuery<CallableModel[]>(offersPath);
  const words = query.trim().toLowerCase().split(/\s+/);
  const media = (Object.keys(mediumTexts) as CardMedium[]).filter((each) =>
    models.some((model) => findCardMedium(model) === each),
  );
  const found = models.filter((card) => {
    const text = `${card.model} ${card.plugin_name ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word)) && (medium === '' || findCardMedium(card) === medium);
  });
  const shown = found.slice(0, cardsAtOnce);
  const left = found.length - shown.length + hidden;
  return (
    <>
      <div className={classes.filters}>
        {models.length >= searchFrom && (
          <SearchField
            aria-label={t('models.search')}
            placeholder={t('models.search')}
            maw={360}
            value={query}
            onChange={({ currentTarget }) => setQuery(currentTarget.value)}
          />
        )}
        {media.length > 1 && (
          <SegmentedControl
            aria-label={t('models.medium')}
            value={medium}
            onChange={(value) => setMedium(value as CardMedium | '')}
            data={[
              { value: '', label: t('models.medium.all') },
              ...media.map((each) => ({ value: each, label: t(mediumTexts[each]) })),
            ]}
          />
        )}
      </div>
      {found.length === 0 && <Text c="dimmed">{t('models.notFound')}</Text>}
      <ul className={classes.cards}>
        {shown.map((model) => (
          <ModelCard
            key={`${model.plugin_key}/${model.model}`}
            model={model}
            result={results.get(`${model.plugin_key}/${model.model}`)}
            schema={offers?.find((each) => each.plugin_key === model.plugin_key && each.model === model.model)?.schema}
          />
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

type ModelCardProps = { model: Model; result: TaskSummary | undefined; schema: CallableModel['schema'] | undefined };

/** One model: who makes it, what it takes, what it costs, how long it takes, and how to call it. */
function ModelCard({ model: card, result, schema }: ModelCardProps) {
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
      {result === undefined ? (
        <span className={classes.blank} aria-hidden="true">
          <PluginIcon name={card.plugin_name ?? 'API'} icon={card.icon} size={52} />
        </span>
      ) : (
        <Link to={`/tasks/${encodeURIComponent(result.id)}`} aria-label={t('models.resultOf', { model })}>
          <TaskPoster task={result} size="tile" />
        </Link>
      )}
      <div className={classes.head}>
        <PluginIcon name={card.plugin_name ?? 'API'} icon={card.icon} size={34} />
        <div className={classes.names}>
          <h2 id={id}>{model}</h2>
          <Text size="sm" c="dimmed" truncate {...(description === '' ? {} : { title: description })}>
            {card.plugin_name === null
              ? t('models.relayed')
              : `${card.plugin_name} · ${t(mediumTexts[findCardMedium(card)])}`}
          </Text>
        </div>
      </div>
      {pluginKey !== null && (
        <p className={classes.takes}>{schema && sayAbilities(schema, { t, format, language: i18n.language })}</p>
      )}
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
    t('models.priceExample', { amount: format.money(usd * QUOTA_PER_USD), request: label });
  if (!price.priced) {
    return (
      <div className={classes.cost}>
        <p className={classes.price}>{t('models.noPrice')}</p>
        <Text size="sm" c="dimmed" lh={1.5}>
          {t('play.price.freeHint')}
        </Text>
      </div>
    );
  }
  if (price.summary === null) {
    return (
      <div className={classes.cost}>
        <p className={classes.price}>{first === undefined ? t('models.priceVaries') : exampleWords(first)}</p>
        {others.length > 0 && (
          <Text size="sm" c="dimmed" lh={1.5}>
            {others.map(exampleWords).join(' · ')}
          </Text>
        )}
        {price.expression !== null && <code className={classes.expression}>{price.expression}</code>}
      </div>
    );
  }
  const { short, rows } = words(price.summary, units, labels);
  return (
    <div className={classes.cost}>
      <p className={classes.price}>{short}</p>
      {rows.length > 0 && (
        <Text size="sm" c="dimmed" lh={1.5}>
          {rows.join(' · ')}
        </Text>
      )}
    </div>
  );
}

function ModelCode({ card: { model, plugin_key: pluginKey, sample } }: { card: Model }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const offers = useApiQuery<CallableModel[]>('/api/model', { enabled: pluginKey !== null });
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
  const body = { model, prompt: t('keys.samplePrompt'), ...sample };
  const offer = offers.data?.find((each) => each.model === model && each.plugin_key === pluginKey);
  const { path, result } =
    offer === undefined ? { path: `/v1/tasks/${pluginKey}`, result: 'id' as const } : surfaceFor(offer, body);
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        <KeyLinks />
      </Text>
      {offers.isPending ? <Skeleton h={180} /> : <RequestTabs url={`${origin}${path}`} body={body} result={result} />}
    </>
  );
}
