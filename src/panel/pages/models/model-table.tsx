import { Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { playgroundPath } from '../../api/plugin-paths.ts';
import type { ModelCard as Model, ModelResult } from '../../api/types.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Column, PlainTable, RowLink } from '../../ui/table/data-table.tsx';
import { BriefFacts, RowBrief } from '../../ui/table/row-brief.tsx';
import { TaskPoster } from '../tasks/task-poster.tsx';
import { ModelCodeButton } from './model-code.tsx';
import classes from './model-table.module.css';
import { modelKey, rateColor } from './read-model.ts';
import { useModelWords } from './use-model-words.ts';

type ModelTableProps = {
  models: readonly Model[];
  /** The latest result of each, by its key. */
  results: ReadonlyMap<string, ModelResult>;
  sort: string;
  onSort(sort: string): void;
};

/** The models in a row each, to compare many. A row leads to the playground. */
export function ModelTable({ models, results, sort, onSort }: ModelTableProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { formatMaker, formatPrice } = useModelWords();
  const duration = format.durationLike(models.flatMap(({ usual_seconds: seconds }) => seconds ?? []));
  const picture = (card: Model, size: 'row' | 'brief') => {
    const result = results.get(modelKey(card));
    if (result !== undefined) return <TaskPoster task={result} size={size} />;
    return (
      <span className={classes.blank} data-size={size}>
        <PluginIcon name={card.plugin_name ?? 'API'} icon={card.icon} size={26} />
      </span>
    );
  };
  const columns: readonly Column<Model>[] = [
    {
      key: 'model',
      heading: t('play.model'),
      render: (card) => {
        const { model, plugin_key: pluginKey, suspended } = card;
        const content = (
          <>
            {picture(card, 'row')}
            <span className={classes.names}>
              <span className={classes.name}>{model}</span>{' '}
              <span className={classes.maker}>
                {formatMaker(card)}
                {suspended && <span className={classes.suspended}> · {t('models.suspended')}</span>}
              </span>
            </span>
          </>
        );
        if (pluginKey === null) return <div className={classes.row}>{content}</div>;
        return (
          <RowLink to={playgroundPath(pluginKey, model)} className={classes.row ?? ''}>
            {content}
          </RowLink>
        );
      },
    },
    {
      key: 'price',
      heading: t('models.price'),
      render: (card) => {
        const { short, more } = formatPrice(card);
        const others = more.join(' · ');
        return (
          <div className={classes.price}>
            <span>{short}</span>
            {others !== '' && (
              <span className={classes.maker} title={others}>
                {others}
              </span>
            )}
          </div>
        );
      },
    },
    {
      key: 'time',
      heading: t('models.time'),
      numeric: true,
      sorts: [{ value: 'time', direction: 'ascending' }],
      render: ({ usual_seconds: seconds }) => (seconds === null ? '–' : duration(seconds)),
    },
    {
      key: 'success',
      heading: t('models.success'),
      numeric: true,
      sorts: [{ value: 'success', direction: 'descending' }],
      render: ({ success_rate: rate }) => (
        <span style={{ color: rateColor(rate) }}>{rate === null ? '–' : format.percent(rate)}</span>
      ),
    },
    {
      key: 'actions',
      heading: t('app.more'),
      actions: true,
      render: (card) => (
        <Group gap={4} wrap="nowrap" justify="flex-end">
          {card.plugin_key !== null && (
            <Button
              component={Link}
              to={playgroundPath(card.plugin_key, card.model)}
              size="xs"
              variant="default"
              aria-label={t('models.tryOf', { model: card.model })}
            >
              {t('models.try')}
            </Button>
          )}
          <ModelCodeButton card={card} isSmall />
        </Group>
      ),
    },
  ];
  return (
    <PlainTable
      label={t('nav.models')}
      columns={columns}
      rows={models}
      rowKey={(card: Model) => modelKey(card)}
      sort={sort}
      onSort={onSort}
      brief={(card) => (
        <RowBrief
          icon={picture(card, 'brief')}
          name={card.model}
          wrapsName
          {...(card.plugin_key === null ? {} : { to: playgroundPath(card.plugin_key, card.model) })}
          facts={[formatPrice(card).short]}
          wraps
          detail={
            <>
              <BriefFacts
                facts={[
                  card.usual_seconds === null
                    ? ''
                    : `${t('home.slowest.usual')} ${format.duration(card.usual_seconds)}`,
                  card.success_rate === null ? (
                    ''
                  ) : (
                    <span key="rate" style={{ color: rateColor(card.success_rate) }}>
                      {t('home.slowest.succeeded', { share: format.percent(card.success_rate) })}
                    </span>
                  ),
                ]}
              />
              {card.suspended ? (
                <Text span inherit c="var(--mantine-color-error)">
                  {t('models.suspended')}
                </Text>
              ) : (
                formatMaker(card)
              )}
            </>
          }
          // The playground, where the row leads, has the code too.
          {...(card.plugin_key === null && { actions: <ModelCodeButton card={card} isSmall /> })}
        />
      )}
    />
  );
}
