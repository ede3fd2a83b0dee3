import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { Section } from '../../ui/section.tsx';
import type { RequestBody } from './attached-files.ts';
import { withFileHints } from './attached-files.ts';
import { ChooseModel } from './choose-model.tsx';
import { CodeSamples } from './code-samples.tsx';
import classes from './playground.module.css';
import { RequestForm } from './request-form.tsx';
import { RequestJson } from './request-json.tsx';
import { RunPanel } from './run-panel.tsx';
import { RunningTask } from './running-task.tsx';
import { useRequestBody } from './use-request-body.ts';

type PlaygroundProps = { offers: readonly CallableModel[]; source: TaskDetail | undefined };

/** A model, a request for it, its price, its run. What is chosen is in the address. */
export function Playground({ offers, source }: PlaygroundProps) {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const [view, setView] = useState('form');
  const chosen = choose(offers, params, source);
  const draft = useRequestBody(begin(chosen, source));
  const taskId = params.get('task');

  const change = (values: Readonly<Record<string, string | null>>): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(values)) {
          if (value === null) next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  const chooseOffer = (offer: CallableModel): void => {
    change({ plugin: offer.plugin_key, model: offer.model });
    const { prompt } = draft.body;
    draft.replace({ model: offer.model, ...(prompt === undefined ? {} : { prompt }) });
  };

  return (
    <div className={classes.columns}>
      <div className={classes.main}>
        <ChooseModel offers={offers} chosen={chosen} onChoose={chooseOffer} />
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

/** By the address, else by the task whose request is taken over, else the first that can be used. There is always one. */
function choose(
  offers: readonly CallableModel[],
  params: URLSearchParams,
  source: TaskDetail | undefined,
): CallableModel {
  const model = params.get('model') ?? source?.model;
  const plugin = params.get('plugin') ?? (params.has('model') ? null : (source?.platform ?? null));
  const wanted = offers.filter((offer) => offer.model === model);
  return (wanted.find(({ plugin_key }) => plugin_key === plugin) ??
    wanted[0] ??
    offers.find(({ blocked }) => blocked === null) ??
    offers[0]) as CallableModel;
}

function begin({ model }: CallableModel, source: TaskDetail | undefined): RequestBody {
  const kept = source?.request?.body;
  const isObject = typeof kept === 'object' && kept !== null && !Array.isArray(kept);
  return isObject ? { model, ...kept } : { model, prompt: source?.input ?? '' };
}
