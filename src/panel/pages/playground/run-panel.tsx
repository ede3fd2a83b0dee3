import { Alert, Button, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { createIdempotencyKey, isDecided } from '../../api/idempotency-key.ts';
import { Section } from '../../ui/page/section.tsx';
import { type RequestBody, withFiles } from './attached-files.ts';
import { describeFault } from './json-error-message.ts';
import { PriceView } from './price-view.tsx';
import { useQuote } from './use-quote.ts';
import type { RequestDraft } from './use-request-draft.ts';

const blockedTexts: Readonly<Record<NonNullable<CallableModel['blocked']>, TextKey>> = {
  no_price: 'play.blocked.no_price',
  plugin_suspended: 'play.blocked.plugin_suspended',
};

/** Longer than a vendor may take to accept a task. */
const patienceMs = 150_000;

type Order = { plugin_key: string; body: RequestBody };
type Attempt = { content: string; key: string; order: Order };

type RunPanelProps = { offer: CallableModel; draft: RequestDraft; onRun(taskId: string): void };

/** What it costs, and the button that sends it. */
export function RunPanel({ offer, draft, onRun }: RunPanelProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { quote, isCurrent } = useQuote(offer, draft.body);
  // By content, as long as nobody knows what came of them: the same request is sent again as it
  // was, to the letter, and is bought once.
  const undecided = useRef(new Map<string, Attempt>());
  const submit = useChange<Attempt, TaskDetail>({
    request: ({ key, order }) => ({
      method: 'POST',
      path: '/api/task',
      headers: { 'idempotency-key': key },
      body: order,
      patienceMs,
    }),
    stale: ['/api/task?', '/api/user/self', '/api/stats'],
    onSuccess: ({ id }, { content }) => {
      undecided.current.delete(content);
      onRun(id);
      // Less is left now.
      void quote.refetch();
    },
    onError: (error, { content }) => {
      if (isDecided(error)) undecided.current.delete(content);
    },
  });
  const run = (): void => {
    const order = { plugin_key: offer.plugin_key, body: withFiles(draft.body, draft.files) };
    const content = writeContent(order);
    const attempt = undecided.current.get(content) ?? { content, key: createIdempotencyKey(), order };
    undecided.current.set(content, attempt);
    submit.mutate(attempt);
  };
  const isUnanswered = submit.error instanceof ApiError && submit.error.status === 0;
  // The price of what was there a moment ago is no price of this.
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
        disabled={offer.blocked !== null || draft.fault !== null || fileBeingRead !== undefined}
        loading={submit.isPending}
        onClick={run}
      >
        {isPriced && quote.data !== undefined
          ? t('play.runFor', { amount: format.money(quote.data.quota) })
          : t('play.run')}
      </Button>
      {draft.fault !== null && (
        <Text size="sm" c="var(--mantine-color-error)">
          {t('play.jsonFirst', { fault: describeFault(draft.fault, t) })}
        </Text>
      )}
      {fileBeingRead !== undefined && <Text size="sm">{t('play.file.reading', { name: fileBeingRead.name })}</Text>}
      {submit.isError && <FailureNotice error={submit.error} />}
      {isUnanswered && <Text size="sm">{t('play.runAgain')}</Text>}
    </Section>
  );
}

/**
 * What a request says, whichever way its fields are ordered: one that is emptied and filled again
 * stands last.
 */
const writeContent = (order: Order): string =>
  JSON.stringify(order, (_name, value: unknown) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
