import { Alert, Button, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { FailureNotice } from '../../ui/failure-notice.tsx';
import { isDecided, makeRequestKey } from '../../ui/make-request-key.ts';
import { Section } from '../../ui/section.tsx';
import { useFormat } from '../../ui/use-format.ts';
import { withFiles } from './attached-files.ts';
import { PriceView } from './price-view.tsx';
import { useQuote } from './use-quote.ts';
import type { RequestDraft } from './use-request-body.ts';

const blockedTexts: Readonly<Record<NonNullable<CallableModel['blocked']>, TextKey>> = {
  no_price: 'play.blocked.no_price',
  plugin_suspended: 'play.blocked.plugin_suspended',
};

/** Longer than a vendor may take to accept a task. */
const patienceMs = 150_000;

type RunPanelProps = { offer: CallableModel; draft: RequestDraft; onRun(taskId: string): void };

/** What it costs, and the button that sends it. */
export function RunPanel({ offer, draft, onRun }: RunPanelProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { quote, isCurrent } = useQuote(offer, draft.body);
  const [runs, setRuns] = useState(0);
  // The same request sent again because no answer came is bought once; after an answer, or changed, it is another one.
  const key = useMemo(makeRequestKey, [offer, draft.body, runs]);
  const submit = useChange<void, TaskDetail>({
    request: () => ({
      method: 'POST',
      path: '/api/task',
      headers: { 'idempotency-key': key },
      body: { plugin_key: offer.plugin_key, body: withFiles(draft.body, draft.files) },
      patienceMs,
    }),
    stale: ['/api/task?', '/api/user/self', '/api/stats'],
    onSuccess: ({ id }) => {
      setRuns((count) => count + 1);
      onRun(id);
      // Less is left now.
      void quote.refetch();
    },
    onError: (error) => {
      if (isDecided(error)) setRuns((count) => count + 1);
    },
  });
  const isUnanswered = submit.error instanceof ApiError && submit.error.status === 0;
  // The price of what was there a moment ago is no price of this.
  const isPriced = isCurrent && quote.data !== undefined && quote.data.expression !== null && !quote.isError;

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
        disabled={offer.blocked !== null || draft.fault !== null}
        loading={submit.isPending}
        onClick={() => submit.mutate()}
      >
        {isPriced && quote.data !== undefined
          ? t('play.runFor', { amount: format.money(quote.data.quota) })
          : t('play.run')}
      </Button>
      {submit.isError && <FailureNotice error={submit.error} />}
      {isUnanswered && <Text size="sm">{t('play.runAgain')}</Text>}
    </Section>
  );
}
