import { Alert, SegmentedControl, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { Section } from '../../ui/page/section.tsx';
import { useScopedNavigate } from '../../ui/page/use-scoped-navigate.ts';
import type { RequestBody } from './attached-files.ts';
import { withFileHints } from './attached-files.ts';
import { CodeSamples } from './code-samples.tsx';
import { ModelSelect } from './model-select.tsx';
import classes from './playground.module.css';
import { RequestForm } from './request-form.tsx';
import { RequestJson } from './request-json.tsx';
import { RunPanel } from './run-panel.tsx';
import { RunningTask } from './running-task.tsx';
import {
  isSameModel,
  type OfferSelection,
  offerKey,
  type RequestedModel,
  readRequestedModel,
  selectOffer,
} from './select-offer.ts';
import { useRequestDraft } from './use-request-draft.ts';

type PlaygroundProps = { offers: readonly CallableModel[]; source: TaskDetail | undefined };

/** A model, a request, its price and its run. The selection is part of the URL. */
export function Playground({ offers, source }: PlaygroundProps) {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const navigateHere = useScopedNavigate();
  const [view, setView] = useState('form');
  const requested = readRequestedModel(params);
  const [lastRequested, setLastRequested] = useState(requested);
  const [selection, setSelection] = useState(() => selectOffer(offers, requested ?? modelOfTask(source)));
  const draft = useRequestDraft(initialBody(selection.offer, source));
  // The current version of the selected offer. Changes of the list do not change the selection.
  const offer = offers.find((offer) => offerKey(offer) === offerKey(selection.offer)) ?? selection.offer;
  const taskId = params.get('task');

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
    draft.replace({ model: next.offer.model, ...(prompt === undefined ? {} : { prompt }) });
  };
  if (!isSameModel(requested, lastRequested)) {
    setLastRequested(requested);
    if (requested !== null) select(selectOffer(offers, requested, selection.offer));
  }

  return (
    <div className={classes.columns}>
      <div className={classes.main}>
        <ModelSelect
          offers={offers}
          selected={offer}
          onSelect={(offer) => {
            select({ offer, unavailable: null });
            updateQuery({ plugin: offer.plugin_key, model: offer.model });
          }}
        />
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
          {view === 'form' ? <RequestForm offer={offer} draft={draft} /> : <RequestJson draft={draft} />}
        </Section>
      </div>
      <div className={classes.side}>
        <RunPanel offer={offer} draft={draft} onRun={(id) => updateQuery({ task: id })} />
        {taskId !== null && <RunningTask key={taskId} id={taskId} onClose={() => updateQuery({ task: null })} />}
      </div>
      <div className={classes.code}>
        <CodeSamples offer={offer} body={withFileHints(draft.body, draft.files)} />
      </div>
    </div>
  );
}

const modelOfTask = (source: TaskDetail | undefined): RequestedModel | null =>
  source === undefined ? null : { model: source.model, plugin: source.platform };

/** The task's request with the selected model, whichever model the task had. */
function initialBody({ model }: CallableModel, source: TaskDetail | undefined): RequestBody {
  const kept = source?.request?.body;
  const isObject = typeof kept === 'object' && kept !== null && !Array.isArray(kept);
  return isObject ? { ...kept, model } : { model, prompt: source?.input ?? '' };
}
