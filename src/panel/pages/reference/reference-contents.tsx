import { Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { i18n as I18n } from 'i18next';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useNavigate } from 'react-router';
import fold from '../../ui/display/fold.module.css';
import { WithCode } from '../../ui/display/with-code.tsx';
import contents from './contents.module.css';
import { listGuides } from './guides.tsx';
import { Entry, OperationEntry, OperationWords } from './operation-view.tsx';
import {
  type ApiCode,
  type ApiObject,
  hasWords,
  type Operation,
  type Group as OperationGroup,
  operationText,
  type Reference,
} from './read-document.ts';
import classes from './reference.module.css';
import { SchemaTable } from './schema-table.tsx';
import type { Reader } from './use-reader.ts';

type ReferenceContentsProps = { reference: Reference; reader: Reader; search: string };

/** What has all words of the search; everything without one. */
export function ReferenceContents({ reference, reader, search }: ReferenceContentsProps) {
  const { t, i18n } = useTranslation();
  const target = decodeURIComponent(useLocation().hash.slice(1));
  const guides = listGuides({ reference, reader, t }).filter(({ text }) => hasWords(text, search));
  const client = filterGroups(translateGroups(reference.client, i18n), search);
  const panel = filterGroups(translateGroups(reference.panel, i18n), search);
  const readWebhooks = (all: readonly Operation[]): Operation[] =>
    all
      .map((webhook) => translate(webhook, `reference.webhook.${webhook.path}`, i18n))
      .filter((webhook) => hasWords(operationText(webhook), search));
  const webhooks = readWebhooks(reference.webhooks);
  const alerts = readWebhooks(reference.operators.webhooks);
  const callbacks = reference.operators.operations
    .map((operation) => translate(operation, `reference.op.${operation.id}`, i18n))
    .filter((operation) => hasWords(operationText(operation), search));
  const objects = reference.objects.client.filter(({ name }) => hasWords(name, search));
  const panelObjects = reference.objects.panel.filter(({ name }) => hasWords(name, search));
  const codes = reference.codes.filter((code) =>
    hasWords(`${code.status} ${code.openai} ${code.panel} ${code.message}`, search),
  );
  const listOperations = (groups: readonly OperationGroup[]) =>
    groups.map(({ id, name, operations }) => (
      <FoldedSection key={id} {...{ id, heading: name, search, target }} ids={operations.map((each) => each.id)}>
        {operations.map((operation) => (
          <OperationEntry key={operation.id} {...{ operation, reader, search }} isTarget={operation.id === target} />
        ))}
      </FoldedSection>
    ));
  const listObjects = (shown: readonly ApiObject[]) =>
    shown.map(({ id, name, schema }) => (
      <Entry
        key={id}
        id={id}
        isTarget={id === target}
        summary={
          <>
            <code className={classes.path}>{name}</code>
            <span className={classes.summary} lang="en">
              <WithCode text={typeof schema.description === 'string' ? schema.description : ''} />
            </span>
          </>
        }
      >
        <SchemaTable schema={schema} />
      </Entry>
    ));
  const listWebhooks = (shown: readonly Operation[]) =>
    shown.map((webhook) => (
      <Entry
        key={webhook.id}
        id={webhook.id}
        isTarget={webhook.id === target}
        summary={
          <>
            <code className={classes.path}>{webhook.path}</code>
            <span className={classes.summary} lang={webhook.isTranslated ? undefined : 'en'}>
              {webhook.summary}
            </span>
          </>
        }
      >
        <OperationWords operation={webhook} />
      </Entry>
    ));
  const panelRoutes = panel.flatMap(({ operations }) => operations);
  const sections = [
    ...guides.map(({ id, heading }) => ({ id, heading })),
    ...client.map(({ id, name }) => ({ id, heading: name })),
    ...(webhooks.length > 0 ? [{ id: 'webhooks', heading: t('reference.webhooks') }] : []),
    ...(objects.length > 0 ? [{ id: 'objects', heading: t('reference.objects') }] : []),
    ...(codes.length > 0 ? [{ id: 'codes', heading: t('reference.codes') }] : []),
    ...(alerts.length + callbacks.length > 0 ? [{ id: 'operators', heading: t('reference.operators') }] : []),
    ...(panel.length + panelObjects.length > 0 ? [{ id: 'panel', heading: t('reference.panel') }] : []),
  ];
  useScrollToSection(target);
  if (sections.length === 0) return <Text role="status">{t('reference.nothing')}</Text>;
  return (
    <div className={classes.layout}>
      <OnThisPage sections={sections} />
      <div className={classes.sections}>
        {guides.map(({ id, heading, content }) => (
          <ReferenceSection key={id} id={id} heading={heading}>
            {content}
          </ReferenceSection>
        ))}
        {listOperations(client)}
        {webhooks.length > 0 && (
          <FoldedSection
            {...{ id: 'webhooks', heading: t('reference.webhooks'), search, target }}
            ids={webhooks.map(({ id }) => id)}
          >
            {listWebhooks(webhooks)}
          </FoldedSection>
        )}
        {objects.length > 0 && (
          <FoldedSection
            {...{ id: 'objects', heading: t('reference.objects'), search, target }}
            ids={objects.map(({ id }) => id)}
          >
            {listObjects(objects)}
          </FoldedSection>
        )}
        {codes.length > 0 && (
          <FoldedSection
            {...{ id: 'codes', heading: t('reference.codes'), search, target }}
            ids={codes.map(({ panel: code }) => code)}
            label={t('reference.allCodes', { count: codes.length })}
          >
            <CodeTable codes={codes} />
          </FoldedSection>
        )}
        {alerts.length + callbacks.length > 0 && (
          <FoldedSection
            {...{ id: 'operators', heading: t('reference.operators'), search, target }}
            ids={[...callbacks, ...alerts].map(({ id }) => id)}
          >
            {callbacks.map((operation) => (
              <OperationEntry
                key={operation.id}
                {...{ operation, reader, search }}
                isTarget={operation.id === target}
              />
            ))}
            {listWebhooks(alerts)}
          </FoldedSection>
        )}
        {panel.length + panelObjects.length > 0 && (
          <FoldedSection
            {...{ id: 'panel', heading: t('reference.panel'), search, target }}
            ids={[...panelRoutes, ...panelObjects].map(({ id }) => id)}
            intro={t('reference.panelText')}
            label={t('reference.panelRoutes', { count: panelRoutes.length })}
          >
            <Stack gap={28}>
              {listOperations(panel)}
              {panelObjects.length > 0 && (
                <ReferenceSection id="panel-objects" heading={t('reference.objects')}>
                  {listObjects(panelObjects)}
                </ReferenceSection>
              )}
            </Stack>
          </FoldedSection>
        )}
      </div>
    </div>
  );
}

/**
 * The names of groups, and what operations do, in the reader's language; in English as the document
 * says them.
 */
const translateGroups = (groups: readonly OperationGroup[], i18n: I18n): OperationGroup[] =>
  groups.map((group) => ({
    ...group,
    name: say(`reference.group.${group.id.replace(/^\w+?-/, '')}`, i18n) ?? group.name,
    operations: group.operations.map((operation) => translate(operation, `reference.op.${operation.id}`, i18n)),
  }));

function translate(operation: Operation, key: string, i18n: I18n): Operation {
  const summary = say(key, i18n);
  return summary === undefined ? operation : { ...operation, summary, isTranslated: true };
}

const say = (key: string, { language, exists, t }: I18n): string | undefined =>
  language !== 'en' && exists(key) ? (t as (key: string) => string)(key) : undefined;

const filterGroups = (groups: readonly OperationGroup[], search: string): OperationGroup[] =>
  groups
    .map((group) => ({
      ...group,
      operations: group.operations.filter((operation) => hasWords(`${group.name} ${operationText(operation)}`, search)),
    }))
    .filter(({ operations }) => operations.length > 0);

/** What the address names comes with the document, after the browser has looked for it. */
function useScrollToSection(target: string): void {
  useEffect(() => {
    if (target !== '') document.getElementById(target)?.scrollIntoView();
  }, [target]);
}

/** The sections, with the one that is being read marked. */
function OnThisPage({ sections }: { sections: readonly { id: string; heading: string }[] }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const current = useReadSection(sections.map(({ id }) => id));
  return (
    <nav aria-label={t('reference.contents')} className={contents.contents}>
      <p aria-hidden="true">{t('reference.contents')}</p>
      <ul>
        {sections.map(({ id, heading }) => (
          <li key={id}>
            <a href={`#${id}`} aria-current={id === current ? 'location' : undefined}>
              {heading}
            </a>
          </li>
        ))}
      </ul>
      <NativeSelect
        aria-label={t('reference.contents')}
        data={sections.map(({ id, heading }) => ({ value: id, label: heading }))}
        value={current}
        onChange={({ currentTarget: { value: id } }) => {
          // The address opens what is folded.
          void navigate(`#${id}`, { replace: true });
          document.getElementById(id)?.scrollIntoView();
        }}
      />
    </nav>
  );
}

/** Pixels from the top of the window: a section that begins above is being read. */
const readingLine = 140;

/** The last section that begins above the line of reading; at the page's end the last of all. */
function useReadSection(ids: readonly string[]): string | undefined {
  const [current, setCurrent] = useState(ids[0]);
  const all = ids.join(' ');
  useEffect(() => {
    const find = (): void => {
      const [first, ...others] = all.split(' ');
      const { scrollHeight } = document.documentElement;
      const isAtEnd = window.scrollY > 0 && window.scrollY + window.innerHeight >= scrollHeight - 2;
      const begun = others.filter((id) => {
        const section = document.getElementById(id);
        return section !== null && (isAtEnd || section.getBoundingClientRect().top < readingLine);
      });
      setCurrent(begun.at(-1) ?? first);
    };
    find();
    window.addEventListener('scroll', find, { passive: true });
    return () => window.removeEventListener('scroll', find);
  }, [all]);
  return current;
}

type ReferenceSectionProps = { id: string; heading: string; children: ReactNode };

function ReferenceSection({ id, heading, children }: ReferenceSectionProps) {
  return (
    <section id={id} className={classes.section} aria-labelledby={`${id}-heading`}>
      <h2 id={`${id}-heading`}>{heading}</h2>
      {children}
    </section>
  );
}

type FoldedSectionProps = ReferenceSectionProps & {
  /** What it consists of. */
  ids: readonly string[];
  search: string;
  /** What the address names. */
  target: string;
  intro?: string;
  /** What unfolds it on wider screens, where it is folded there too. */
  label?: string;
};

/** A section that a phone shows folded, but for what was searched for or the address names. */
function FoldedSection({ id, heading, children, ids, search, target, intro, label }: FoldedSectionProps) {
  const isPhone = useMediaQuery('(max-width: 639px)', undefined, { getInitialValueInEffect: false }) === true;
  // One with an introduction begins with that.
  const isOpen = search !== '' || ids.includes(target) || (target === id && intro === undefined);
  const words = intro !== undefined && <p className={classes.intro}>{intro}</p>;
  if (!isPhone) {
    return (
      <ReferenceSection id={id} heading={heading}>
        {words}
        {label === undefined ? children : <Fold {...{ label, isOpen }}>{children}</Fold>}
      </ReferenceSection>
    );
  }
  return (
    <section id={id} className={`${classes.section} ${contents.folds}`} aria-labelledby={`${id}-heading`}>
      <Fold
        label={
          <>
            <h2 id={`${id}-heading`}>{heading}</h2>
            <span className={classes.panelCode}>{ids.length}</span>
          </>
        }
        isOpen={isOpen}
      >
        {words}
        {children}
      </Fold>
    </section>
  );
}

type FoldProps = { label: ReactNode; isOpen: boolean; children: ReactNode };

/** Its content is made when it is first opened. */
function Fold({ label, isOpen: forced, children }: FoldProps) {
  const [isOpen, setOpen] = useState(forced);
  useEffect(() => setOpen(forced), [forced]);
  return (
    <details
      className={`${fold.fold} ${classes.more}`}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{label}</summary>
      {isOpen && children}
    </details>
  );
}

function CodeTable({ codes }: { codes: readonly ApiCode[] }) {
  const { t } = useTranslation();
  return (
    <ul className={classes.codes}>
      {codes.map(({ status, openai, panel, message }) => (
        <li key={panel}>
          <Group gap="2px 10px">
            <span className={classes.status}>{status}</span>
            <code>{openai}</code>
            <span className={classes.panelCode}>{t('reference.onPanel', { code: panel })}</span>
          </Group>
          <p lang="en" className={classes.says}>
            {message}
          </p>
        </li>
      ))}
    </ul>
  );
}
