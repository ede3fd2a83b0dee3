import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageReport, UsageStats } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { Share } from '../../ui/display/figures.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { localZone, readDates } from '../usage/usage-period.ts';
import classes from './failing.module.css';

const shown = 5;

/** The models whose tasks failed most often; each leads to those tasks. */
export function FailingModels({ figures, all, days }: { figures: UsageStats; all: boolean; days: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const models = figures.failures.slice(0, shown);
  if (models.length === 0) return null;
  const question = { scope: all ? 'all' : null, status: 'FAILURE', period: `${days}d` };
  return (
    <Section heading={t('home.failing')}>
      <PlainTable
        label={t('home.failing')}
        rows={models}
        rowKey={({ plugin_key, model }) => `${plugin_key}/${model}`}
        columns={[
          {
            key: 'model',
            heading: t('home.slowest.model'),
            render: ({ model, plugin_key }) => (
              <Anchor component={Link} to={withQuery('/tasks', { ...question, model, platform: plugin_key })} inherit>
                {model}
              </Anchor>
            ),
          },
          {
            key: 'failed',
            heading: t('task.status.FAILURE'),
            numeric: true,
            render: ({ failed }) => format.number(failed),
          },
          {
            key: 'share',
            heading: t('home.failing.share'),
            numeric: true,
            render: ({ succeeded, failed }) => <Share part={failed} of={succeeded + failed} />,
          },
        ]}
        brief={({ model, plugin_key, succeeded, failed }) => (
          <RowBrief
            name={model}
            to={withQuery('/tasks', { ...question, model, platform: plugin_key })}
            figure={format.percent(failed / (succeeded + failed))}
            facts={[`${t('task.status.FAILURE')}: ${format.number(failed)}`]}
          />
        )}
      />
    </Section>
  );
}

/** Hours of the strip, in a period of whole days. */
const stripDays = 2;
/** Channels of the strip. */
const strips = 8;

/** The question of the strips. */
export function channelHeatPath(): string {
  const today = readDates('today', new Date()).to;
  const from = isoDaysBefore(today, stripDays - 1);
  return withQuery('/api/usage', { scope: 'all', by: 'channel', series: strips, from, to: today, zone: localZone() });
}

/** How often tasks of each channel succeeded in each hour of the last days, as shades. */
export function ChannelHeat() {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<UsageReport>(channelHeatPath(), { refreshMs: 300_000 });
  const channels = data?.shares.filter(({ points, id }) => points !== undefined && id > 0) ?? [];
  if (data === undefined || channels.length === 0) return null;
  const hour = new Intl.DateTimeFormat(i18n.language, { weekday: 'short', hour: 'numeric', timeZone: data.zone });
  return (
    <Section heading={t('home.heat')} intro={t('home.heat.intro')}>
      <ul className={classes.heat}>
        {channels.map(({ id, name, succeeded, failed, points = [] }) => (
          <li key={id}>
            <Anchor component={Link} to={`/channels/${id}`} className={classes.channel}>
              {name ?? t('tasks.channelNumber', { id })}
            </Anchor>
            <span className={classes.hours} aria-hidden="true">
              {points.map((point, index) => (
                <span
                  key={data.points[index]?.at ?? index}
                  className={classes.hour}
                  data-level={heatLevel(point)}
                  title={
                    point.succeeded + point.failed === 0
                      ? undefined
                      : `${hour.format((data.points[index]?.at ?? 0) * 1000)} · ${t('home.successOf', {
                          succeeded: format.number(point.succeeded),
                          ended: format.number(point.succeeded + point.failed),
                        })}`
                  }
                />
              ))}
            </span>
            <span className={classes.rate}>
              {succeeded + failed === 0 ? '–' : format.percent(succeeded / (succeeded + failed))}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Steps of the shades: the share of tasks that succeeded. Empty: none ended. */
function heatLevel({ succeeded, failed }: { succeeded: number; failed: number }): string {
  if (succeeded + failed === 0) return 'none';
  const rate = succeeded / (succeeded + failed);
  if (rate >= 0.99) return 'good';
  if (rate >= 0.9) return 'fair';
  return rate >= 0.5 ? 'poor' : 'bad';
}

const isoDaysBefore = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T12:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10);
