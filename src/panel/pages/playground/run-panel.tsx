import { Alert, Button, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { createIdempotencyKey, isOutcomeKnown } from '../../api/idempotency-key.ts';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { type RequestBody, withFiles } from './attached-files.ts';
import { jsonErrorMessage } from './json-error-message.ts';
import { PriceView } from './price-view.tsx';
import { useQuote } from './use-quote.ts';
import type { RequestDraft } from './use-request-draft.ts';

const blockedTexts: Readonly<Record<NonNullable<CallableModel['blocked']>, TextKey>> = {
  no_price: 'play.blocked.no_price',
  plugin_suspended: 'play.blocked.plugin_suspended',
};

/** Longer than a vendor may take to accept a task. */
const submitTimeoutMs = 150_000;

type SubmitBody = { plugin_key: string; body: RequestBody };
type Attempt = { content: string; key: string; body: SubmitBody };

type RunPanelProps = { offer: CallableModel; draft: RequestDraft; onRun(taskId: string): void };

/** The price, and the button that submits the request. */
export function RunPanel({ offer, draft, onRun }: RunPanelProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { quote, isCurrent } = useQuote(offer, draft.body);
  // Attempts with an unknown outcome, by content. A repeated request is sent unchanged with the
  // same idempotency key, so it is charged once.
  const unsettled = useRef(new Map<string, Attempt>());
  const submit = useApiMutation<Attempt, TaskDetail>({
    request: ({ key, body }) => ({
      method: 'POST',
      path: '/api/task',
      headers: { 'idempotency-key': key },
      body,
      timeoutMs: submitTimeoutMs,
    }),
    invalidates: ['/api/task?', '/api/user/self', '/api/stats'],
    onSuccess: ({ id }, { content }) => {
      unsettled.current.delete(content);
      onRun(id);
      // The balance has changed.
      void quote.refetch();
    },
    onError: (error, { content }) => {
      if (isOutcomeKnown(error)) unsettled.current.delete(content);
    },
  });
  const run = (): void => {
    const body = { plugin_key: offer.plugin_key, body: withFiles(draft.body, draft.files) };
    const content = canonicalJson(body);
    const attempt = unsettled.current.get(content) ?? { content, key: createIdempotencyKey(), body };
    unsettled.current.set(content, attempt);
    submit.mutate(attempt);
  };
  const isUnanswered = submit.error instanceof ApiError && submit.error.status === 0;
  // A price of the previous request does not apply.
  const isPriced = isCurrent && quote.data !== undefined && quote.data.expression !== null && !quote.isError;
  const [fileBeingRead] = Object.values(draft.reading);

  return (
    <Section heading={t('play.price')}>
      {offer.blocked === null ? (
        <PriceView quote={quote} isCurrent={isCurrent} />
      ) : (
        <Alert color="yellow" variant="light">
          <Text size="sm">{t(blockedTexts[offer.blocked])}</Text>
        </Alert>
      )}
      <Button
        fullWidth
        size="md"
        leftSection={<IconPlayerPlay size={18} stroke={1.6} aria-hidden="true" />}
        disabled={offer.blocked !== null || draft.error !== null || fileBeingRead !== undefined}
        loading={submit.isPending}
        onClick={run}
      >
        {isPriced && quote.data !== undefined
          ? t('play.runFor', { amount: format.money(quote.data.quota) })
          : t('play.run')}
      </Button>
      {draft.error !== null && (
        <Text size="sm" c="var(--mantine-color-error)">
          {t('play.jsonFirst', { fault: jsonErrorMessage(draft.error, t) })}
        </Text>
      )}
      {fileBeingRead !== undefined && <Text size="sm">{t('play.file.reading', { name: fileBeingRead.name })}</Text>}
      {submit.isError && <ErrorNotice error={submit.error} />}
      {isUnanswered && <Text size="sm">{t('play.runAgain')}</Text>}
    </Section>
  );
}

/**
 * The body with sorted keys: order does not matter, and a field that was cleared and filled again
 * moves to the end.
 */
const canonicalJson = (body: SubmitBody): string =>
  JSON.stringify(body, (_name, value: unknown) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
