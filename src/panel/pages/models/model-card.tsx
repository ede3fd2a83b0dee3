import { Button, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { playgroundPath } from '../../api/plugin-paths.ts';
import type { CallableModel, ModelCard as Model, ModelResult } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { TaskPoster } from '../tasks/task-poster.tsx';
import { describeAbilities } from './describe-abilities.ts';
import { ModelCodeButton } from './model-code.tsx';
import classes from './models.module.css';
import { rateColor } from './read-model.ts';
import { useModelWords } from './use-model-words.ts';

type ModelCardProps = { model: Model; result: ModelResult | undefined; schema: CallableModel['schema'] | undefined };

/** One model: who makes it, what it takes, what it costs, how long it takes, and how to call it. */
export function ModelCard({ model: card, result, schema }: ModelCardProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { formatMaker } = useModelWords();
  const id = useId();
  const { model, plugin_key: pluginKey } = card;
  const description = localise(card.description, i18n.language);
  const facts = [
    [t('models.time'), card.usual_seconds === null ? null : format.duration(card.usual_seconds), undefined],
    [
      t('models.success'),
      card.success_rate === null ? null : format.percent(card.success_rate),
      rateColor(card.success_rate),
    ],
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
            {formatMaker(card)}
          </Text>
        </div>
      </div>
      {pluginKey !== null && (
        <p className={classes.takes}>{schema && describeAbilities(schema, { t, format, language: i18n.language })}</p>
      )}
      <ModelPrice card={card} />
      <dl className={classes.facts}>
        {facts.map(([label, value, color]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd style={{ color }}>{value ?? '–'}</dd>
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
        <ModelCodeButton card={card} />
      </div>
    </li>
  );
}

function ModelPrice({ card }: { card: Model }) {
  const { formatPrice } = useModelWords();
  const { short, more } = formatPrice(card);
  const { priced, summary, expression } = card.price;
  return (
    <div className={classes.cost}>
      <p className={classes.price}>{short}</p>
      {more.length > 0 && (
        <Text size="sm" c="dimmed" lh={1.5}>
          {more.join(' · ')}
        </Text>
      )}
      {priced && summary === null && expression !== null && <code className={classes.expression}>{expression}</code>}
    </div>
  );
}
