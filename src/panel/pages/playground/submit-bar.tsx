import { Alert, Button, SegmentedControl, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconPlayerPlay } from '@tabler/icons-react';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isObject } from '../../../kernel/json.ts';
import { ApiError } from '../../api/api-error.ts';
import { createIdempotencyKey, isOutcomeKnown } from '../../api/idempotency-key.ts';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { Session } from '../../session/session.ts';
import { useSession } from '../../session/session-context.tsx';
import { useSingleMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { labelField, useFormat } from '../../ui/display/use-format.ts';
import { isDialogOpen } from '../../ui/form/form-dialog.tsx';
import { type RequestBody, withFiles } from './attached-files.ts';
import classes from './playground.module.css';
import { PriceView } from './price-view.tsx';
import { jsonErrorMessage } from './request-code.tsx';
import { findInvalidField, missingFields } from './schema-fields.ts';
import { type QuoteState, refusalText, useQuote } from './use-quote.ts';
import type { RequestDraft } from './use-request-draft.ts';

const blockedTexts: Readonly<Record<NonNullable<CallableModel['blocked']>, TextKey>> = {
  no_price: 'play.blocked.no_price',
  plugin_suspended: 'play.blocked.plugin_suspended',
};

/** Longer than a vendor may take to accept a task. */
const submitTimeoutMs = 150_000;

type SubmitBody = { plugin_key: string; body: RequestBody; repeats?: string };
type Attempt = { content: string; key: string; body: SubmitBody };

const maxCount = 4;

/** A run that the gateway or the vendor refused beside others that began. */
export type RefusedRun = { model: string; error: Error };

type SubmitBarProps = {
  offer: CallableModel;
  /** A second model that gets the same request; null: none. */
  rival: CallableModel | null;
  draft: RequestDraft;
  /** The price of the request with `offer`. */
  own: QuoteState;
  /** The task whose request was edited. */
  repeats: string | undefined;
  onRun(taskIds: readonly string[], refused: readonly RefusedRun[]): void;
};

/**
 * The foot of a request: its price, and the button that submits it, once or several times.
 */
export function SubmitBar({ offer, rival, draft, own, repeats, onRun }: SubmitBarProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const countId = useId();
  const [count, setCount] = useState(1);
  const rivalBody = { ...draft.body, model: rival?.model };
  const other = useQuote({ offer: rival, body: rivalBody, files: draft.files });
  // Attempts with an unknown outcome, by content. A repeated request is sent unchanged with the
  // same idempotency key, so it is charged once.
  const unsettled = useRef(new Map<string, Attempt>());
  const session = useSession();
  const queries = useQueryClient();
  const submit = useSingleMutation({
    mutationFn: async (attempts: readonly Attempt[]) => {
      const outcomes = await Promise.allSettled(attempts.map((attempt) => send(session, attempt)));
      const ids = outcomes.flatMap((outcome, index) => {
        const { content = '' } = attempts[index] ?? {};
        if (outcome.status === 'fulfilled' || isOutcomeKnown(outcome.reason)) unsettled.current.delete(content);
        return outcome.status === 'fulfilled' ? [outcome.value.id] : [];
      });
      const refused = outcomes.flatMap((outcome, index): RefusedRun[] =>
        outcome.status === 'rejected' && isOutcomeKnown(outcome.reason)
          ? [{ model: String(attempts[index]?.body.body.model ?? ''), error: outcome.reason as Error }]
          : [],
      );
      if (ids.length > 0) {
        onRun(ids, refused);
        void refetchSpending(queries);
        // The balance has changed.
        void own.quote.refetch();
      }
      // Beside a run that began, a refusal stands in the column of its model.
      const failed = outcomes.find(
        (outcome) => outcome.status === 'rejected' && (ids.length === 0 || !isOutcomeKnown(outcome.reason)),
      ) as PromiseRejectedResult | undefined;
      if (failed) throw failed.reason;
    },
  });
  const invalidField = [offer, rival].flatMap((each) => (each && findInvalidField(each, draft.body)) || [])[0];
  const [fileBeingRead] = Object.values(draft.reading);
  const isBlocked = offer.blocked !== null || (rival !== null && rival.blocked !== null);
  const quotes = rival === null ? [own] : [own, other];
  const isRefused = quotes.some(({ quote, isCurrent }) => isCurrent && (quote.data?.refusal ?? null) !== null);
  const unfinished = quotes.find(({ quote, isCurrent }) => isCurrent && quote.data?.isUnfinished === true);
  const missing = [offer, rival].flatMap((each) => (each === null ? [] : missingFields(each, draft.body)));
  const isInvalid = draft.error !== null || invalidField !== undefined || isRefused;
  const isOff = isBlocked || isInvalid || fileBeingRead !== undefined;

  const unfinishedText = (): string | null => {
    if (missing.length > 0) {
      const names = [...new Set(missing)].map((name) => labelField(offer.labels, name, i18n.language));
      return t('play.fillFirst', { fields: new Intl.ListFormat(i18n.language).format(names) });
    }
    const hasPrompt = typeof draft.body.prompt === 'string' && draft.body.prompt !== '';
    return hasPrompt ? refusalText(unfinished?.quote.data?.refusal ?? null, t, i18n.language) : t('play.promptFirst');
  };
  const run = (): void => {
    if (isOff || submit.isPending) return;
    const edited = repeats === undefined ? {} : { repeats };
    const bodies: SubmitBody[] = [
      { plugin_key: offer.plugin_key, body: withFiles(draft.body, draft.files), ...edited },
      ...(rival === null ? [] : [{ plugin_key: rival.plugin_key, body: withFiles(rivalBody, draft.files), ...edited }]),
    ];
    const attempts = bodies.flatMap((body) =>
      Array.from({ length: count }, (_, number): Attempt => {
        const content = `${number} ${canonicalJson(body)}`;
        return unsettled.current.get(content) ?? { content, key: createIdempotencyKey(), body };
      }),
    );
    for (const attempt of attempts) unsettled.current.set(attempt.content, attempt);
    submit.mutate(attempts);
  };
  const runByKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    if (event.defaultPrevented || isDialogOpen()) return;
    event.preventDefault();
    run();
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => runByKey(event);
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);

  const isUnanswered = submit.error instanceof ApiError && submit.error.status === 0;
  // A price of the previous request does not apply.
  const isPriced = quotes.every(
    ({ quote, isCurrent }) => isCurrent && (quote.data?.price?.expression ?? null) !== null && !quote.isError,
  );
  const total = quotes.reduce((sum, { quote }) => sum + (quote.data?.price?.quota ?? 0), 0) * count;
  const tasks = count * quotes.length;

  const isPhone = useMediaQuery('(max-width: 760px)', undefined, { getInitialValueInEffect: false }) === true;
  const amount = format.money(total);
  const action = isPriced ? t('play.runFor', { amount }) : t('play.run');
  return (
    <div className={classes.foot}>
      {offer.blocked === null ? (
        <PriceView offer={offer} {...own} isOneOfTwo={rival !== null} />
      ) : (
        <Alert color="yellow" variant="light">
          <Text size="sm">{t(blockedTexts[offer.blocked])}</Text>
        </Alert>
      )}
      {rival !== null && <PriceView offer={rival} {...other} isOneOfTwo hasBalance={false} />}
      {tasks > 1 && (
        <Text size="sm" c="dimmed">
          {t('play.total', { count: tasks })}
        </Text>
      )}
      <div className={classes.runBar}>
        {submit.isError && <ErrorNotice error={submit.error} />}
        {isUnanswered && <Text size="sm">{t('play.runAgain')}</Text>}
        <div className={classes.runs}>
          <span id={countId}>{t('play.count')}</span>
          <SegmentedControl
            aria-labelledby={countId}
            data={Array.from({ length: maxCount }, (_, i) => String(i + 1))}
            value={String(count)}
            onChange={(value) => setCount(Number(value))}
          />
          <Button
            fullWidth
            size={isPhone ? 'sm' : 'md'}
            leftSection={!isPhone && <IconPlayerPlay size={18} stroke={1.6} aria-hidden="true" />}
            disabled={isOff}
            loading={submit.isPending}
            onClick={run}
            title={t('play.shortcut')}
          >
            {action}
          </Button>
        </div>
        {draft.error !== null && (
          <Text size="sm" c="var(--mantine-color-error)">
            {t('play.jsonFirst', { fault: jsonErrorMessage(draft.error, t) })}
          </Text>
        )}
        {draft.error === null && invalidField !== undefined && (
          <Text size="sm" c="var(--mantine-color-error)">
            {t('play.fieldFirst', { field: labelField(offer.labels, invalidField, i18n.language) })}
          </Text>
        )}
        {draft.error === null && invalidField === undefined && unfinished !== undefined && (
          <Text size="sm" c="dimmed">
            {unfinishedText()}
          </Text>
        )}
        {fileBeingRead !== undefined && <Text size="sm">{t('play.file.reading', { name: fileBeingRead.name })}</Text>}
      </div>
    </div>
  );
}

const send = (session: Pick<Session, 'send'>, { key, body }: Attempt): Promise<TaskDetail> =>
  session.send<TaskDetail>({
    method: 'POST',
    path: '/api/task',
    headers: { 'idempotency-key': key },
    body,
    timeoutMs: submitTimeoutMs,
  });

const refetchSpending = (queries: QueryClient): Promise<void> =>
  queries.invalidateQueries({
    predicate: ({ queryKey: [kind, path] }) =>
      kind === 'api' &&
      typeof path === 'string' &&
      ['/api/task?', '/api/user/self', '/api/stats'].some((prefix) => path.startsWith(prefix)),
  });

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
