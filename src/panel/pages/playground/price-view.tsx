import { Skeleton, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { errorMessage } from '../../api/error-message.ts';
import { sayServerText } from '../../api/say-server-text.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './price-view.module.css';
import type { QuoteState } from './use-quote.ts';

/** Errors of an incomplete request: not an error while the user is typing. */
const incompleteCodes = new Set([
  'PLUGIN_REQUEST_INVALID',
  'PLUGIN_USAGE_INVALID',
  'VALIDATION_FAILED',
  'MODEL_REQUIRED',
]);

const incompleteMessage = (error: ApiError, t: TFunction, language: string): string =>
  sayServerText(error.message, t) ?? (language === 'en' ? error.message : errorMessage(error, t, language));

/** The price of the request, or what is missing to calculate it. */
export function PriceView({ quote, isCurrent }: QuoteState) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const status = useGatewayStatus();
  const { data, error } = quote;
  if (error !== null) {
    const text =
      error instanceof ApiError && incompleteCodes.has(error.code)
        ? t('play.price.incomplete', { message: incompleteMessage(error, t, i18n.language) })
        : errorMessage(error, t, i18n.language);
    return (
      <Text size="sm" c="dimmed" aria-live="polite">
        {text}
      </Text>
    );
  }
  if (data === undefined) {
    return quote.isFetching ? (
      <Skeleton h={32} w={96} />
    ) : (
      <Text size="sm" c="dimmed">
        {t('play.price.waiting')}
      </Text>
    );
  }
  const isShort = data.quota > data.balance;
  const hint = status.data?.balance_hint || t('home.balanceAsk');
  const balance = format.money(data.balance);
  return (
    <div className={classes.price}>
      <p className={classes.amount} data-stale={!isCurrent || undefined} aria-live="polite">
        {data.expression === null ? t('play.price.free') : format.money(data.quota)}
      </p>
      <Text size="sm" c={isShort ? 'var(--mantine-color-error)' : 'dimmed'} lh={1.55}>
        {data.expression === null
          ? t('play.price.freeHint')
          : isShort
            ? `${t('play.price.short', { balance })} ${hint}`
            : t('play.price.balance', { balance })}
      </Text>
      {data.steps.length > 0 && (
        <Collapsible label={t('play.price.steps')}>
          <pre className={classes.steps}>{[data.expression, ...data.steps].join('\n')}</pre>
        </Collapsible>
      )}
    </div>
  );
}
