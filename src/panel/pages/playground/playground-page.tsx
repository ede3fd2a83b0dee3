import { Alert, Button, SegmentedControl, Select, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { isObject } from '../../../kernel/json.ts';
import type { CallableModel, ModelCatalog, TaskDetail, TaskSummary } from '../../api/types.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { NoModels } from '../../ui/page/no-models.tsx';
import { Page, useScopedNavigate } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import type { PagedRows } from '../../ui/table/data-table.tsx';
import { latestTasksPath } from '../tasks/read-task.ts';
import type { RequestBody } from './attached-files.ts';
import { withFileHints } from './attached-files.ts';
import {
  isSameModel,
  ModelSelect,
  type OfferSelection,
  offerKey,
  PluginBrief,
  type RequestedModel,
  readRequestedModel,
  selectOffer,
  usualModel,
} from './model-select.tsx';
import classes from './playground.module.css';
import { CodeSamples, RequestJson } from './request-code.tsx';
import { RequestForm } from './request-form.tsx';
import { findRefusedField } from './schema-fields.ts';
import { ResultPane } from './sent-tasks.tsx';
import { type RefusedRun, SubmitBar } from './submit-bar.tsx';
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
  const isOpen = from === '' && readRequestedModel(params) === null;
  const latest = useApiQuery<PagedRows<TaskSummary>>(latestTasksPath, { enabled: isOpen });
  const isNew = latest.data?.items.length === 0;
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog', { enabled: isOpen && isNew });
  const isUsualKnown = !isOpen || (latest.isFetched && (!isNew || catalog.isFetched));
  return (
    <Page heading={t('play.heading')} intro={t('play.intro')}>
      {source.isError && <ErrorNotice error={source.error} codeTexts={{ TASK_NOT_FOUND: 'play.fromFailed' }} />}
      <QueryResult query={models}>
        {(offers) => {
          if (offers.length === 0) return <NoModels />;
          return (
            // The key remounts the form when the task arrives late or changes.
            isSourceLoaded &&
            isUsualKnown && (
              <Playground
                key={source.data === undefined ? '' : from}
                offers={offers}
                source={source.data}
                usual={usualModel(offers, {
                  latest: latest.data?.items ?? [],
                  cards: catalog.data?.items ?? [],
                })}
              />
            )
          );
        }}
      </QueryResult>
    </Page>
  );
}

type PlaygroundProps = {
  offers: readonly CallableModel[];
  source: TaskDetail | undefined;
  /** The model to begin with, where none is named. */
  usual: RequestedModel | null;
};

/**
 * A model, a request and its price at the left, and what comes of it at the right. The selection is
 * part of the URL.
 */
function Playground({ offers, source, usual }: PlaygroundProps) {
  const { t, i18n } = useTranslation();
  const [params] = useSearchParams();
  const navigateHere = useScopedNavigate();
  const [view, setView] = useState('form');
  const requested = readRequestedModel(params);
  const [lastRequested, setLastRequested] = useState(requested);
  const [selection, setSelection] = useState(() => selectOffer(offers, requested ?? modelOfTask(source) ?? usual));
  const userId = useSessionSnapshot().bundle?.user.id ?? 0;
  const draft = useRequestDraft(
    source === undefined
      ? (readDraft(userId, offerKey(selection.offer)) ?? initialBody(selection.offer, source))
      : initialBody(selection.offer, source),
  );
  const [rivalKey, setRivalKey] = useState<string | null>(null);
  const [isComparing, setComparing] = useState(false);
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
      <div className={classes.inputs}>
        <div className={classes.choice}>
          <ModelSelect
            offers={offers}
            selected={offer}
            onSelect={(offer) => {
              select({ offer, unavailable: null });
              updateQuery({ plugin: offer.plugin_key, model: offer.model });
            }}
          />
          {offers.length > 1 && !isComparing && (
            <Button
              variant="subtle"
              size="xs"
              leftSection={<IconPlus size={16} stroke={1.6} aria-hidden="true" />}
              onClick={() => setComparing(true)}
            >
              {t('play.compare.add')}
            </Button>
          )}
          {isComparing && (
            <Select
              autoFocus
              label={t('play.compare')}
              placeholder={t('play.compare.none')}
              searchable
              clearable
              clearButtonProps={{ 'aria-label': t('play.compare.none') }}
              data={offers
                .filter((each) => each !== offer)
                .map((each) => ({ value: offerKey(each), label: toName(each) }))}
              value={rivalKey}
              onChange={setRivalKey}
            />
          )}
        </div>
        <PluginBrief offer={offer} />
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
              facts={own.isCurrent ? own.quote.data?.price?.facts : undefined}
            />
          ) : (
            <RequestJson draft={draft} />
          )}
          {dropped.fault !== null && (
            <Text size="sm" c="var(--mantine-color-error)" role="alert">
              {dropped.fault}
            </Text>
          )}
          <SubmitBar
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
        </Section>
      </div>
      <ResultPane
        taskIds={taskIds}
        refusedRuns={refusedRuns}
        onShow={(ids) => updateQuery({ task: ids.join(',') || null })}
        onRefused={setRefusedRuns}
      />
      <div className={classes.code}>
        <CodeSamples offer={offer} body={withFileHints(draft.body, draft.files)} />
      </div>
    </div>
  );
}

/** After the last change. */
const keepAfterMs = 400;

const toName = ({ model, plugin_name: plugin }: CallableModel): string => `${model} (${plugin})`;

/** What the plugin refuses of the current request; an empty field is not a fault yet. */
function readRefusal(offer: CallableModel, { quote, isCurrent }: QuoteState) {
  const refusal = isCurrent && quote.data?.isUnfinished === false ? quote.data.refusal : null;
  return refusal && { refusal, field: findRefusedField(offer, refusal) };
}

const modelOfTask = (source: TaskDetail | undefined): RequestedModel | null =>
  source === undefined ? null : { model: source.model, plugin: source.platform };

/** The task's request with the selected model, whichever model the task had. */
function initialBody({ model }: CallableModel, source: TaskDetail | undefined): RequestBody {
  const kept = source?.request?.body;
  return isObject(kept) ? { ...kept, model } : { model, prompt: source?.input ?? '' };
}
