import { Text } from '@mantine/core';
import { Fragment, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../ui/display/copy-field.tsx';
import fold from '../../ui/display/fold.module.css';
import { WithCode } from '../../ui/display/with-code.tsx';
import { RequestTabs } from '../playground/code-tabs.tsx';
import { findSentence, isSchema, makeExample, type Operation, type Parameter, type Schema } from './read-document.ts';
import classes from './reference.module.css';
import { ResponseTable } from './response-table.tsx';
import { ParameterTable, SchemaTable } from './schema-table.tsx';
import { TryRequest } from './try-request.tsx';
import { useCall } from './use-call.ts';
import type { Reader } from './use-reader.ts';

type EntryProps = {
  /** Its anchor. */
  id: string;
  /** It is what the address names. */
  isTarget: boolean;
  summary: ReactNode;
  children: ReactNode;
};

/** One row that opens. Its content is made when it is first opened; an open one is the address. */
export function Entry({ id, isTarget, summary, children }: EntryProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(isTarget);
  useEffect(() => {
    if (!isTarget) return;
    setOpen(true);
    details.current?.scrollIntoView();
  }, [isTarget]);
  const toggle = (open: boolean): void => {
    setOpen(open);
    // Not by the router: the page stays where it is.
    if (open && !isOpen) window.history.replaceState(window.history.state, '', `#${encodeURIComponent(id)}`);
  };
  return (
    <details
      id={id}
      ref={details}
      className={classes.entry}
      open={isOpen}
      onToggle={(event) => toggle(event.currentTarget.open)}
    >
      <summary>{summary}</summary>
      {isOpen && <div className={classes.entryContent}>{children}</div>}
    </details>
  );
}

type OperationEntryProps = {
  operation: Operation;
  reader: Reader;
  isTarget: boolean;
  /** The words by which it was found; empty: none. */
  search: string;
};

export function OperationEntry({ operation, reader, isTarget, search }: OperationEntryProps) {
  const { t } = useTranslation();
  const { id, method, path, summary, isTranslated, access } = operation;
  const found = search === '' ? undefined : findSentence(operation, search);
  return (
    <Entry
      id={id}
      isTarget={isTarget}
      summary={
        <>
          <code className={classes.method} data-method={method}>
            {method}
          </code>
          <code className={classes.path}>
            {path.split(/(?<=\/)/).map((part, index) => (
              <Fragment key={index}>
                {part}
                <wbr />
              </Fragment>
            ))}
          </code>
          <span className={classes.summary}>
            <span lang={isTranslated ? undefined : 'en'}>{summary}</span>
            {access !== 'apiKey' && <span className={classes.access}>{t(`reference.access.${access}`)}</span>}
            {found !== undefined && (
              <span className={classes.found} lang="en">
                <WithCode text={found} />
              </span>
            )}
          </span>
        </>
      }
    >
      <OpenOperation operation={operation} reader={reader} />
    </Entry>
  );
}

function OpenOperation({ operation, reader }: Pick<OperationEntryProps, 'operation' | 'reader'>) {
  const { t } = useTranslation();
  const call = useCall(operation, reader);
  const example = writeResponse(operation);
  return (
    <div className={classes.beside}>
      <div className={classes.words}>
        <OperationWords operation={operation} />
        {operation.otherPaths.length > 0 && (
          <Part heading={t('reference.alsoAt')}>
            {operation.otherPaths.map((path) => (
              <p key={path} className={classes.type}>
                <code>{path}</code>
              </p>
            ))}
          </Part>
        )}
      </div>
      <div className={classes.code}>
        {call.request === null ? (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {t('reference.badJson')}
          </Text>
        ) : (
          <RequestTabs {...call.request} />
        )}
        <TryRequest
          {...{ call, reader }}
          needsKey={call.needsKey && reader.typedKey === ''}
          isCharged={operation.access === 'apiKey' && operation.parameters.some(isIdempotencyKey)}
        />
        {example !== null && <ExampleResponse text={example} />}
      </div>
    </div>
  );
}

/** Everything that is charged can be repeated without paying twice. */
const isIdempotencyKey = ({ name }: Parameter): boolean => name === 'Idempotency-Key';

/** What comes back, as code. */
export function ExampleResponse({ text }: { text: string }) {
  const { t } = useTranslation();
  return (
    <div>
      <p className={classes.exampleHead}>{t('reference.exampleResponse')}</p>
      <CopyField text={text} isProgram />
    </div>
  );
}

/** More lines would not be read as an example. */
const maxExampleLines = 24;

/** A success in JSON as its schema describes it; null where that is long, or says nothing. */
function writeResponse({ access, responses, schemas }: Operation): string | null {
  if (access !== 'apiKey') return null;
  const success = responses.find(({ status }) => status === '200');
  const json = success?.bodies.find(({ type }) => type === 'application/json');
  const example = json === undefined ? null : makeExample(json.schema, schemas);
  if (!isSchema(example) || Object.keys(example).length === 0) return null;
  const text = JSON.stringify(example, null, 2);
  return text.split('\n').length <= maxExampleLines ? text : null;
}

/** What the document says of an operation or a webhook: what one sends first, then what comes. */
export function OperationWords({ operation }: { operation: Operation }) {
  const { t } = useTranslation();
  const { description, parameters, bodies, bodyLimit, responses } = operation;
  const isOptionalHeader = ({ in: place, required = false }: Parameter): boolean => place === 'header' && !required;
  const named = parameters.filter((parameter) => !isOptionalHeader(parameter));
  const headers = parameters.filter(isOptionalHeader);
  return (
    <>
      {description !== '' && <English text={description} />}
      {joinAlike(bodies).map(({ types, schema }) => (
        <Part key={types} heading={t('reference.body')} note={types}>
          {bodyLimit !== '' && <English text={bodyLimit} />}
          <SchemaTable schema={schema} />
        </Part>
      ))}
      {named.length > 0 && (
        <Part heading={t('reference.parameters')}>
          <ParameterTable parameters={named} />
        </Part>
      )}
      {headers.length > 0 && (
        <details className={`${fold.fold} ${classes.more}`}>
          <summary>{t('reference.optionalHeaders')}</summary>
          <ParameterTable parameters={headers} />
        </details>
      )}
      {responses.length > 0 && (
        <Part heading={t('reference.responses')}>
          <ResponseTable responses={responses} />
        </Part>
      )}
      {responses.map(({ status, bodies: answers }) => {
        // Failures have one form, which the page explains once.
        const json = status < '4' && answers.find(({ type }) => type === 'application/json');
        return (
          json && (
            <Part key={status} heading={t('reference.response', { status })}>
              <SchemaTable schema={json.schema} />
            </Part>
          )
        );
      })}
    </>
  );
}

const English = ({ text }: { text: string }) => (
  <p lang="en" className={classes.text}>
    <WithCode text={text} />
  </p>
);

/** Bodies of several types with the same members are told once. */
function joinAlike(bodies: Operation['bodies']): { types: string; schema: Schema }[] {
  const joined = new Map<string, { types: string; schema: Schema }>();
  for (const { type, schema } of bodies) {
    const content = JSON.stringify(schema);
    const known = joined.get(content);
    joined.set(content, { types: known === undefined ? type : `${known.types}, ${type}`, schema });
  }
  return [...joined.values()];
}

type PartProps = { heading: string; note?: string; children: ReactNode };

const Part = ({ heading, note, children }: PartProps) => (
  <div className={classes.part}>
    <h3>
      {heading}
      {note !== undefined && note !== 'application/json' && <code className={classes.note}>{note}</code>}
    </h3>
    {children}
  </div>
);
