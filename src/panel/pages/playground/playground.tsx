import { Alert, SegmentedControl, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { Section } from '../../ui/page/section.tsx';
import { useNavigateHere } from '../../ui/page/use-scoped-navigate.ts';
import type { RequestBody } from './attached-files.ts';
import { withFileHints } from './attached-files.ts';
import { ChooseModel } from './model-select.tsx';
import { type Choice, chooseOffer, isSameWish, offerKey, readWish, type Wish } from './select-offer.ts';
import { CodeSamples } from './code-samples.tsx';
import classes from './playground.module.css';
import { RequestForm } from './request-form.tsx';
import { RequestJson } from './request-json.tsx';
import { RunPanel } from './run-panel.tsx';
import { RunningTask } from './running-task.tsx';
import { useRequestBody } from './use-request-draft.ts';

type PlaygroundProps = { offers: readonly CallableModel[]; source: TaskDetail | undefined };

/** A model, a request for it, its price, its run. What is chosen is in the address. */
export function Playground({ offers, source }: PlaygroundProps) {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const navigateHere = useNavigateHere();
  const [view, setView] = useState('form');
  const wish = readWish(params);
  const [heard, setHeard] = useState(wish);
  const [choice, setChoice] = useState(() => chooseOffer(offers, wish ?? readSource(source)));
  const draft = useRequestBody(begin(choice.offer, source));
  // The offer as it is by now. Offers that come, go or change their order change no choice.
  const chosen = offers.find((offer) => offerKey(offer) === offerKey(choice.offer)) ?? choice.offer;
  const taskId = params.get('task');

  const change = (values: Readonly<Record<string, string | null>>): void => {
    // As it is by then: a run is answered late.
    const next = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(values)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    navigateHere({ search: next.toString() }, { replace: true });
  };
  const take = (next: Choice): void => {
    setChoice(next);
    if (offerKey(next.offer) === offerKey(choice.offer)) return;
    const { prompt } = draft.body;
    draft.replace({ model: next.offer.model, ...(prompt === undefined ? {} : { prompt }) });
  };
  if (!isSameWish(wish, heard)) {
    setHeard(wish);
    if (wish !== null) take(chooseOffer(offers, wish, choice.offer));
  }

  return (
    <div className={classes.columns}>
      <div className={classes.main}>
        <ChooseModel
          offers={offers}
          chosen={chosen}
          onChoose={(offer) => {
            take({ offer, missing: null });
            change({ plugin: offer.plugin_key, model: offer.model });
          }}
        />
        {choice.missing !== null && (
          <Alert color="yellow" variant="light">
            <Text size="sm">{t('play.otherModel', { wanted: choice.missing })}</Text>
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
          {view === 'form' ? <RequestForm offer={chosen} draft={draft} /> : <RequestJson draft={draft} />}
        </Section>
      </div>
      <div className={classes.side}>
        <RunPanel offer={chosen} draft={draft} onRun={(id) => change({ task: id })} />
        {taskId !== null && <RunningTask key={taskId} id={taskId} onClose={() => change({ task: null })} />}
      </div>
      <div className={classes.code}>
        <CodeSamples offer={chosen} body={withFileHints(draft.body, draft.files)} />
      </div>
    </div>
  );
}

const readSource = (source: TaskDetail | undefined): Wish | null =>
  source === undefined ? null : { model: source.model, plugin: source.platform };

/** The request of the task for the model that is shown, whatever model the task was of. */
function begin({ model }: CallableModel, source: TaskDetail | undefined): RequestBody {
  const kept = source?.request?.body;
  const isObject = typeof kept === 'object' && kept !== null && !Array.isArray(kept);
  return isObject ? { ...kept, model } : { model, prompt: source?.input ?? '' };
}
