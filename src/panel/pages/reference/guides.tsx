import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { codeGenerators } from '../../ui/code/generate-code.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { WithCode } from '../../ui/display/with-code.tsx';
import { CodeTabs, RequestTabs } from '../playground/code-tabs.tsx';
import { ExampleResponse } from './operation-view.tsx';
import { endStatuses, isVideo, pollPrograms, quickstartResponses, webhookReceivers } from './quickstart-code.ts';
import type { ApiCode, Reference } from './read-document.ts';
import classes from './reference.module.css';
import type { Reader } from './use-reader.ts';

/** A part of the page that explains; `text` is what a search looks at. */
type Guide = { id: string; heading: string; text: string; content: ReactNode };

type GuidesInput = { reference: Reference; reader: Reader; t: TFunction };

/** Quickstart, errors and idempotency: words at the left, code at the right. */
export function listGuides({ reference, reader, t }: GuidesInput): Guide[] {
  const { origin, apiKey, create } = reader;
  const url = `${origin}${create.path}`;
  const task = `${origin}/v1/tasks/TASK_ID`;
  const polled = isVideo(create.path) ? `${url}/TASK_ID` : task;
  const read = { method: 'GET', apiKey } as const;
  const quickstart: StepProps[] = [
    {
      ...{ id: 'create', heading: t('reference.create'), texts: [t('reference.createText')] },
      code: <RequestTabs url={url} body={create.body} apiKey={apiKey} />,
      response: quickstartResponses.create(create.path, create.body.model),
    },
    {
      ...{ id: 'poll', heading: t('reference.poll') },
      texts: [t('reference.pollText'), ...(isVideo(create.path) ? [t('reference.pollAny')] : [])],
      code: (
        <CodeTabs
          write={(language) =>
            pollPrograms[language]({ ...{ url: `${polled}?wait=60`, apiKey }, ended: endStatuses(create.path) })
          }
        />
      ),
      response: quickstartResponses.poll(create.path, create.body.model),
    },
    {
      ...{ id: 'stream', heading: t('reference.stream'), texts: [t('reference.streamText')] },
      code: <RequestTabs url={`${task}/events`} {...read} result="lines" />,
    },
    {
      ...{ id: 'receive', heading: t('reference.webhook') },
      texts: [t('reference.webhookText'), t('reference.receiverText')],
      code: (
        <CodeTabs
          write={(language) =>
            language === 'curl'
              ? codeGenerators.curl({
                  ...{ url, body: create.body, apiKey },
                  headers: { 'X-Callback-Url': 'https://example.com/webhooks' },
                })
              : webhookReceivers[language]
          }
        />
      ),
    },
    {
      ...{ id: 'fetch', heading: t('reference.fetch'), texts: [t('reference.fetchText')] },
      code: <RequestTabs url={`${task}/artifacts`} {...read} result="json" />,
      response: quickstartResponses.fetch(origin),
    },
  ];
  const errors: StepProps = {
    ...{ id: 'error-shape', texts: [t('reference.errorsText'), t('reference.errorsRetry')] },
    code: <CopyField text={writeError(reference.codes)} isProgram />,
  };
  const idempotency: StepProps = {
    ...{ id: 'idempotency-key', texts: [t('reference.idempotencyText'), t('reference.idempotencyReplay')] },
    code: <RequestTabs {...{ url, body: create.body, apiKey }} headers={{ 'Idempotency-Key': 'order-1001' }} />,
  };
  return [
    toGuide('quickstart', t('reference.quickstart'), quickstart),
    toGuide('errors', t('reference.errors'), [errors]),
    toGuide('idempotency', t('reference.idempotency'), [idempotency]),
  ];
}

const toGuide = (id: string, heading: string, steps: readonly StepProps[]): Guide => ({
  ...{ id, heading, text: [heading, ...steps.flatMap((step) => [step.heading ?? '', ...step.texts])].join(' ') },
  content: steps.map((step) => <Step key={step.id} {...step} />),
});

/** An error as it comes, with what the document says of its code. */
function writeError(codes: readonly ApiCode[]): string {
  const code = codes.find(({ openai }) => openai === 'api_key_invalid') ?? codes[0];
  const error = { message: code?.message, type: 'authentication_error', code: code?.openai, param: null };
  return `HTTP/1.1 ${code?.status}\nx-request-id: req_…\n\n${JSON.stringify({ error }, null, 2)}`;
}

type StepProps = { id: string; heading?: string; texts: readonly string[]; code: ReactNode; response?: string };

function Step({ id, heading, texts, code, response }: StepProps) {
  return (
    <div id={id} className={classes.beside}>
      <div className={classes.words}>
        {heading !== undefined && <h3>{heading}</h3>}
        {texts.map((text) => (
          <p key={text} className={classes.text}>
            <WithCode text={text} />
          </p>
        ))}
      </div>
      <div className={classes.code}>
        {code}
        {response !== undefined && <ExampleResponse text={response} />}
      </div>
    </div>
  );
}
