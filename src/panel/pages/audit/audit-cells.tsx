import { Text, UnstyledButton } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { Fragment, type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isObject } from '../../../kernel/json.ts';
import { parseUserAgent } from '../../../kernel/user-agents.ts';
import type { AuditEntry } from '../../api/types.ts';
import { humanizeFieldName, useFormat } from '../../ui/display/use-format.ts';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import { useNamed } from '../../ui/form/name-select.tsx';
import { BriefText, RowBrief } from '../../ui/table/row-brief.tsx';
import classes from './audit.module.css';
import { type DescribeValue, describeValues, isCode, nameField, rankField, readPlainPrice } from './audit-fields.ts';
import { AuditTarget, HistoryLink, TargetName, useAuditTarget } from './audit-target.tsx';
import { actionTexts, methodTexts, signInTexts } from './audit-texts.ts';

type CellProps = { entry: AuditEntry };

/** What was done, and the sentence that also says who did it. */
function useActionText({ action, username }: AuditEntry): { what: string; sentence: string } {
  const { t } = useTranslation();
  const signIn = signInTexts[action];
  if (signIn !== undefined) {
    const sentence = t(signIn, { name: username || t('audit.unknownAccount') });
    return { what: sentence, sentence };
  }
  const text = actionTexts[action];
  const what = text === undefined ? action : t(text);
  return { what, sentence: t('audit.by', { who: username || t('audit.system'), what }) };
}

/** What was tried and refused. */
const failures: ReadonlySet<string> = new Set([
  'auth.login_failed',
  'auth.locked',
  'auth.factor_failed',
  'auth.refresh_reuse',
]);

const isSignIn = ({ action }: AuditEntry): boolean => signInTexts[action] !== undefined;

/** How somebody signed in, or what made a change; a session of the panel goes without saying. */
function useMethodText({ auth_method: method }: AuditEntry): string {
  const { t } = useTranslation();
  const text = methodTexts[method];
  return method === 'session' ? '' : text === undefined ? method : t(text);
}

/** The sentence of the entry, with a link to its target. */
export function AuditActionCell({ entry }: CellProps) {
  const { sentence } = useActionText(entry);
  const method = useMethodText(entry);
  const { name } = useAuditTarget(entry);
  return (
    <div className={classes.what}>
      <Text size="sm" fw={550} data-bad={failures.has(entry.action) || undefined}>
        {sentence}
      </Text>
      {isSignIn(entry) && method !== '' && (
        <Text size="sm" c="dimmed">
          {method}
        </Text>
      )}
      {name !== entry.username && (
        <div className={classes.object}>
          <AuditTarget entry={entry} isShort />
          <HistoryLink target={entry.target} />
        </div>
      )}
    </div>
  );
}

/** An entry in two or three lines. A touch shows more of it, or else leads to its target. */
export function AuditBrief({ entry }: CellProps) {
  const format = useFormat();
  const [isOpen, setOpen] = useState(false);
  const { sentence } = useActionText(entry);
  const { name, path } = useAuditTarget(entry);
  const { parts, hasMore } = useSummary(entry);
  const method = useMethodText(entry);
  const failure = failures.has(entry.action) ? parts.find(({ field }) => field === 'reason')?.value : undefined;
  const others = parts.filter(({ field }) => failure === undefined || field !== 'reason');
  const object = name === entry.username ? isSignIn(entry) && method : <TargetName name={name} />;
  const subject = failure ?? object;
  return (
    <RowBrief
      name={sentence}
      {...(hasMore ? { onPress: () => setOpen(!isOpen), isOpen } : path === null ? {} : { to: path })}
      state={subject ? <BriefText isBad={failure !== undefined}>{subject}</BriefText> : undefined}
      facts={[isSignIn(entry) ? '' : method, entry.ip, format.clock(entry.created_at)]}
      wraps
      wrapsName
      detail={
        others.length > 0 ? (
          <span className={classes.summary}>
            <Summary entry={entry} parts={others} />
          </span>
        ) : undefined
      }
    >
      <AuditDetails entry={entry} />
    </RowBrief>
  );
}

/** The details of an entry, with its values as the reader knows them. */
function useDetails(entry: AuditEntry): { changes: Change[]; facts: Fact[] } {
  const { t } = useTranslation();
  const format = useFormat();
  const { user_id: id } = entry.detail;
  const owner = useNamed({ path: '/api/user/names', id: typeof id === 'number' ? String(id) : '' });
  const names = new Map(owner && [[id, owner.name]]);
  const formatters = { time: format.time, value: describeValues(entry, { t, money: format.exactMoney, names }) };
  const facts = listFacts(entry.detail, formatters).filter(({ field }) => !isRedundant(field, entry.detail.after));
  return { changes: listChanges(entry.detail, formatters), facts };
}

/** Another field of the same state says it: a key's budget, or that a version is inactive. */
function isRedundant(field: string, state: unknown): boolean {
  if (!isObject(state)) return false;
  if (field === 'enabled') return state.active === false;
  if (field === 'quota') return state.unlimited_quota === true;
  return field === 'unlimited_quota' && state.unlimited_quota === false && state.quota !== undefined;
}

function AuditDetails({ entry }: CellProps) {
  const format = useFormat();
  const details = useDetails(entry);
  return (
    <>
      <Text size="sm">{format.exactTime(entry.created_at)}</Text>
      <AuditTarget entry={entry} />
      <HistoryLink target={entry.target} />
      <ChangeList entry={entry} {...details} />
    </>
  );
}

/** The time of day: the rows of a day stand below its date. */
export function AuditTimeCell({ entry }: CellProps) {
  const format = useFormat();
  return (
    <Text size="sm" title={format.exactTime(entry.created_at)} className={classes.time ?? ''}>
      {format.clock(entry.created_at)}
    </Text>
  );
}

/** Shows the IP address, and what made a change unless that is the panel. */
export function AuditFromCell({ entry }: CellProps) {
  const method = useMethodText(entry);
  return (
    <Text size="sm" component="div">
      {entry.ip}
      {!isSignIn(entry) && method !== '' && (
        <Text size="xs" c="dimmed">
          {method}
        </Text>
      )}
    </Text>
  );
}

/** Details that say nothing to a reader. */
const identifiers: ReadonlySet<string> = new Set([
  ...['id', 'session', 'prefix', 'source_hash', 'plugin_key', 'created_at', 'updated_at'],
]);

/** The most details that a row says without being opened. */
const mostInline = 2;
/** Longer values are cut; all of them stands in the details. */
const maxInline = 72;

const cut = (text: string): string => (text.length > maxInline ? `${text.slice(0, maxInline - 1).trimEnd()}…` : text);

/** What a row says of its details, the most telling ones first. */
function useSummary(entry: AuditEntry) {
  const { t } = useTranslation();
  const { name } = useAuditTarget(entry);
  const formatters = useInlineFormatters();
  const { changes, facts: all } = useDetails(entry);
  // The target stands in the sentence's cell.
  const facts = all.filter(({ value }) => value !== name);
  const nothing = t('audit.nothing');
  const show = (field: string, value: string | undefined): string =>
    value === undefined ? nothing : cut(formatters[field]?.(value) ?? readNames(value) ?? value);
  const parts = [
    ...changes.map(({ field, before, after }) => ({ field, value: `${show(field, before)} → ${show(field, after)}` })),
    ...facts
      .filter(({ field, value }) => !identifiers.has(field) && value !== t('app.no') && !name.endsWith(` ${value}`))
      .map(({ field, value }) => ({ field, value: show(field, value) })),
  ].sort((one, other) => rankField(entry, one.field) - rankField(entry, other.field));
  const shown = parts.slice(0, mostInline);
  const values = [...changes.flatMap(({ before, after }) => [before ?? '', after ?? '']), ...facts.map(readValue)];
  const hasMore = changes.length + facts.length > shown.length || values.some(({ length }) => length > maxInline);
  return { changes, facts, parts: shown, hasMore };
}

/** The names of the things in a JSON array; null if there are none. */
function readNames(text: string): string | null {
  if (!text.startsWith('[{')) return null;
  try {
    const names = (JSON.parse(text) as { name?: unknown }[]).map(({ name }) => name);
    return names.every((name) => typeof name === 'string') ? names.join(', ') : null;
  } catch {
    return null;
  }
}

/** Values that a row says shorter than its details do, and without the name of the field. */
function useInlineFormatters(): Readonly<Record<string, (value: string) => string>> {
  const { t } = useTranslation();
  const words = usePriceWords();
  return {
    user_agent: (value) => {
      const device = parseUserAgent(value);
      return device === null ? t('home.device.unknown') : t('home.device', device);
    },
    expression: (value) => {
      const price = readPlainPrice(value);
      return price === null ? value : words(price.summary, price.units, {}).short;
    },
  };
}

/** The first details of an entry in a line. */
const Summary = ({ entry, parts }: CellProps & { parts: readonly Fact[] }): ReactNode =>
  parts.map((part, index) => (
    <Fragment key={part.field}>
      {index > 0 && ' · '}
      <InlineDetail entry={entry} {...part} />
    </Fragment>
  ));

/** The first details; more of them, and long ones, are shown by a click. */
export function AuditChangesCell({ entry }: CellProps) {
  const { t } = useTranslation();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const { what } = useActionText(entry);
  const { changes, facts, parts, hasMore } = useSummary(entry);
  if (!hasMore)
    return (
      <span className={classes.inline}>
        <Summary entry={entry} parts={parts} />
      </span>
    );
  return (
    <div className={classes.changes}>
      <UnstyledButton
        className={classes.toggle}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <IconChevronRight size={16} stroke={1.6} aria-hidden="true" data-open={isOpen || undefined} />
        <span className={classes.summary}>
          <span className={classes.unseen}>{t('audit.detailsOf', { what })} </span>
          {parts.length > 0 ? <Summary entry={entry} parts={parts} /> : t('audit.details')}
        </span>
      </UnstyledButton>
      <div id={id}>{isOpen && <ChangeList entry={entry} changes={changes} facts={facts} />}</div>
    </div>
  );
}

type ChangeListProps = CellProps & { changes: readonly Change[]; facts: readonly Fact[] };

function ChangeList({ entry, changes, facts }: ChangeListProps) {
  const { t } = useTranslation();
  return (
    <dl className={classes.difference}>
      {changes.map(({ field, before, after }) => (
        <div key={field}>
          <FieldName entry={entry} field={field} />
          <dd>
            <del data-code={isCode(field, before) || undefined}>
              <span className={classes.unseen}>{t('audit.before')} </span>
              {before ?? t('audit.nothing')}
            </del>
            <ins data-code={isCode(field, after) || undefined}>
              <span className={classes.unseen}>{t('audit.after')} </span>
              {after ?? t('audit.nothing')}
            </ins>
          </dd>
        </div>
      ))}
      {facts.map(({ field, value }) => (
        <div key={field}>
          <FieldName entry={entry} field={field} />
          <dd>
            <span data-code={isCode(field, value) || undefined}>{value}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The only value of an entry has no name, and "Passed" and "Active" need none. */
const isNameless = (field: string): boolean => field === '' || field === 'ok' || field === 'active';

function FieldName({ entry, field }: CellProps & { field: string }) {
  const { t } = useTranslation();
  if (isNameless(field)) return null;
  const name = nameField(entry, field, t);
  return name === null ? <dt lang="en">{humanizeFieldName(field)}</dt> : <dt>{name}</dt>;
}

/** One changed field; undefined means no value. */
export type Change = { field: string; before: string | undefined; after: string | undefined };

type Fact = { field: string; value: string };

const readValue = ({ value }: Fact): string => value;

function InlineDetail({ entry, field, value }: CellProps & Fact) {
  const { t } = useTranslation();
  if (isNameless(field) || field === 'user_agent' || field === 'expression') return value;
  const name = nameField(entry, field, t);
  return (
    <>
      {name === null ? <span lang="en">{humanizeFieldName(field)}</span> : name}: {value}
    </>
  );
}

type Detail = Readonly<Record<string, unknown>>;

/** What has no fields yet, or none any more, was created or deleted as a whole. */
function readStates({ before, after }: Detail): Detail {
  return {
    before: before === null && isObject(after) ? undefined : before,
    after: after === null && isObject(before) ? undefined : after,
  };
}
type Formatters = {
  /** Formats Unix seconds. */
  time(seconds: number): string;
  value: DescribeValue;
};

/**
 * The fields that differ between `before` and `after`, without `updated_at`. Empty if something was
 * created or deleted as a whole: there is nothing to compare.
 */
export function listChanges(detail: Detail, formatters: Formatters): Change[] {
  const { before, after } = readStates(detail);
  if (before === undefined || after === undefined) return [];
  if (!isObject(before) && !isObject(after))
    return [{ field: '', before: formatField('', before, formatters), after: formatField('', after, formatters) }];
  const [oldFields, newFields] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  return [...new Set([...Object.keys(oldFields), ...Object.keys(newFields)])]
    .filter((field) => field !== 'updated_at' && JSON.stringify(oldFields[field]) !== JSON.stringify(newFields[field]))
    .map((field) => ({
      field,
      before: formatField(field, oldFields[field], formatters),
      after: formatField(field, newFields[field], formatters),
    }));
}

/**
 * The other fields of an entry, and those of its only state where one of `before` and `after` is
 * missing.
 */
export function listFacts(detail: Detail, formatters: Formatters): Fact[] {
  const { before: _before, after: _after, ...others } = detail;
  const { before, after } = readStates(detail);
  const onlyState = before === undefined ? after : after === undefined ? before : undefined;
  const state = isObject(onlyState) ? onlyState : onlyState === undefined ? {} : { '': onlyState };
  return Object.entries({ ...state, ...others })
    .map(([field, value]) => ({ field, value: formatField(field, value, formatters) ?? '' }))
    .filter(({ value }) => value !== '');
}

/** Fields that end in `_at` are Unix seconds; 0 means never. */
function formatField(field: string, value: unknown, formatters: Formatters): string | undefined {
  const said = formatters.value(field, value);
  if (said !== undefined) return said;
  if (typeof value !== 'number' || !field.endsWith('_at')) return formatValue(value);
  return value === 0 ? undefined : formatters.time(value);
}

function formatValue(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value.join(', ');
  return JSON.stringify(value);
}
