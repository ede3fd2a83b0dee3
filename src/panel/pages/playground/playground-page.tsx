import { Alert, Button, SegmentedControl, Select, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useScopedNavigate } from '../../ui/page/use-scoped-navigate.ts';
import type { RequestBody } from './attached-files.ts';
import { withFileHints } from './attached-files.ts';
import { findRefusedField } from './find-invalid-field.ts';
import {
  isSameModel,
  ModelSelect,
  type OfferSelection,
  offerKey,
  type RequestedModel,
  readRequestedModel,
  selectOffer,
} from './model-select.tsx';
import classes from './playground.module.css';
import { CodeSamples, RequestJson } from './request-code.tsx';
import { RequestForm } from './request-form.tsx';
import { type RefusedRun, RunPanel } from './run-panel.tsx';
import { RefusedTask, RunningTask, TaskHistory } from './sent-tasks.tsx';
import { useDroppedFiles } from './use-dropped-files.ts';
import { type QuoteState, refusalText, useQuote } from './use-quote.ts';
import { keepDraft, readDraft, useRequestDraft } from './use-request-draft.ts';

/**
 * `/playground`: `?plugin=` and `?model=` select a model, `?from=` copies the request of a task,
 * `?task=` is the task being watched.
 */
export function PlaygroundPage() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const from = params.get('from') ?? '';
  const models = useApiQuery<CallableModel[]>('/api/model');
  const source = useApiQuery<TaskDetail>(`/api/task/${encodeURIComponent(from)}`, {
    enabled: from !== '',
    keepPrevious: false,
  });
  // After a first failed read the playground is usable; a later read must not replace what was
  // typed.
  const isSourceLoaded = from === '' || source.isFetched;
  return (
    <Page heading={t('play.heading')} intro={t('play.intro')}>
      {source.isError && <ErrorNotice error={source.error} codeTexts={{ TASK_NOT_FOUND: 'play.fromFailed' }} />}
      <QueryResult query={models}>
        {(offers) => {
          if (offers.length === 0) return <NoModels />;
          return (
            // The key remounts the form when the task arrives late or changes.
            isSourceLoaded && (
              <Playground key={source.data === undefined ? '' : from} offers={offers} source={source.data} />
            )
          );
        }}
      </QueryResult>
    </Page>
  );
}

function NoModels() {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  return (
    <EmptyState
      heading={t('play.none')}
      text={t('play.noneText')}
      action={
        isAdmin ? (
          <Button component={Link} to="/channels/new">
            {t('play.noneAction')}
          </Button>
        ) : undefined
      }
    />
  );
}

type PlaygroundProps = { offers: readonly CallableModel[]; source: TaskDetail | undefined };

/** A model, a request, its price and its run. The selection is part of the URL. */
function Playground({ offers, source }: PlaygroundProps) {
  const { t, i18n } = useTranslation();
  const [params] = useSearchParams();
  const navigateHere = useScopedNavigate();
  const [view, setView] = useState('form');
  const requested = readRequestedModel(params);
  const [lastRequested, setLastRequested] = useState(requested);
  const [selection, setSelection] = useState(() => selectOffer(offers, requested ?? modelOfTask(source)));
  const userId = useSessionSnapshot().bundle?.user.id ?? 0;
  const draft = useRequestDraft(
    source === undefined
      ? (readDraft(userId, offerKey(selection.offer)) ?? initialBody(selection.offer, source))
      : initialBody(selection.offer, source),
  );
  const [rivalKey, setRivalKey] = useState<string | null>(null);
  const [refusedRuns, setRefusedRuns] = useState<readonly RefusedRun[]>([]);
  // The current version of the selected offer. Changes of the list do not change the selection.
  const offer = offers.find((offer) => offerKey(offer) === offerKey(selection.offer)) ?? selection.offer;
  const rival = offers.find((each) => offerKey(each) === rivalKey && each !== offer) ?? null;
  const own = useQuote({ offer, body: draft.body, files: draft.files });
  const refused = readRefusal(offer, own);
  const taskIds = (params.get('task') ?? '').split(',').filter((id) => id !== '');
  useEffect(() => {
    const timer = setTimeout(() => keepDraft(userId, offerKey(offer), draft.body), keepAfterMs);
    return () => clearTimeout(timer);
  }, [userId, offer, draft.body]);

  const updateQuery = (values: Readonly<Record<string, string | null>>): void => {
    // Reads the current URL: a run may be answered late.
    const next = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(values)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    navigateHere({ search: next.toString() }, { replace: true });
  };
  const select = (next: OfferSelection): void => {
    setSelection(next);
    if (offerKey(next.offer) === offerKey(selection.offer)) return;
    const { prompt } = draft.body;
    keepDraft(userId, offerKey(selection.offer), draft.body);
    draft.replace({
      ...readDraft(userId, offerKey(next.offer)),
      model: next.offer.model,
      ...(prompt === undefined || prompt === '' ? {} : { prompt }),
    });
  };
  if (!isSameModel(requested, lastRequested)) {
    setLastRequested(requested);
    if (requested !== null) select(selectOffer(offers, requested, selection.offer));
  }

  const dropped = useDroppedFiles(offer, draft);
  return (
    <div className={classes.columns} data-over={dropped.isOver ? t('play.file.dropHere') : undefined}>
      <div className={classes.main}>
        <ModelSelect
          offers={offers}
          selected={offer}
          onSelect={(offer) => {
            select({ offer, unavailable: null });
            updateQuery({ plugin: offer.plugin_key, model: offer.model });
          }}
        />
        {offers.length > 1 && (
          <Select
            label={t('play.compare')}
            placeholder={t('play.compare.none')}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': t('play.compare.none') }}
            maw={420}
            data={offers
              .filter((each) => each !== offer)
              .map((each) => ({ value: offerKey(each), label: toName(each) }))}
            value={rivalKey}
            onChange={setRivalKey}
          />
        )}
        {selection.unavailable !== null && (
          <Alert color="yellow" variant="light">
            <Text size="sm">{t('play.otherModel', { wanted: selection.unavailable })}</Text>
          </Alert>
        )}
        <Section
          heading={t('play.request')}
          actions={
            <SegmentedControl
              size="xs"
              aria-label={t('play.view')}
              value={view}
              onChange={setView}
              data={[
                { value: 'form', label: t('play.view.form') },
                { value: 'json', label: t('play.view.json') },
              ]}
            />
          }
        >
          {view === 'form' ? (
            <RequestForm
              offer={offer}
              draft={draft}
              refused={refused && { field: refused.field, text: refusalText(refused.refusal, t, i18n.language) ?? '' }}
            />
          ) : (
            <RequestJson draft={draft} />
          )}
          {dropped.fault !== null && (
            <Text size="sm" c="var(--mantine-color-error)" role="alert">
              {dropped.fault}
            </Text>
          )}
        </Section>
      </div>
      <div className={classes.side}>
        <RunPanel
          offer={offer}
          rival={rival}
          draft={draft}
          own={own}
          repeats={source?.id}
          onRun={(ids, refused) => {
            setRefusedRuns(refused);
            updateQuery({ task: ids.join(',') });
          }}
        />
      </div>
      {taskIds.length > 0 && (
        <div className={classes.results} data-many={taskIds.length + refusedRuns.length > 1 || undefined}>
          {taskIds.slice(0, maxResults).map((id) => (
            <RunningTask
              key={id}
              id={id}
              isOneOfMany={taskIds.length + refusedRuns.length > 1}
              onClose={() => updateQuery({ task: taskIds.filter((each) => each !== id).join(',') || null })}
            />
          ))}
          {refusedRuns.map((run, index) => (
            <RefusedTask
              key={`${run.model} ${index}`}
              run={run}
              onClose={() => setRefusedRuns(refusedRuns.filter((each) => each !== run))}
            />
          ))}
        </div>
      )}
      <div className={classes.code}>
        <TaskHistory
          selected={taskIds}
          onSelect={(id) => {
            setRefusedRuns([]);
            updateQuery({ task: id });
          }}
        />
      </div>
      <div className={classes.code}>
        <CodeSamples offer={offer} body={withFileHints(draft.body, draft.files)} />
      </div>
    </div>
  );
}

/** After the last change. */
const keepAfterMs = 400;
/** Two models, four tasks each. */
const maxResults = 8;

const toName = ({ model, plugin_name: plugin }: CallableModel): string => `${model} (${plugin})`;

/** What the plugin refuses of the current request; an empty field is no fault yet. */
function readRefusal(offer: CallableModel, { quote, isCurrent }: QuoteState) {
  const refusal = isCurrent && quote.data?.isUnfinished === false ? quote.data.refusal : null;
  return refusal && { refusal, field: findRefusedField(offer, refusal) };
}

const modelOfTask = (source: TaskDetail | undefined): RequestedModel | null =>
  source === undefined ? null : { model: source.model, plugin: source.platform };

/** The task's request with the selected model, whichever model the task had. */
function initialBody({ model }: CallableModel, source: TaskDetail | undefined): RequestBody {
  const kept = source?.request?.body;
  const isObject = typeof kept === 'object' && kept !== null && !Array.isArray(kept);
  return isObject ? { ...kept, model } : { model, prompt: source?.input ?? '' };
}
