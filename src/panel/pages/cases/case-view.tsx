import { Button, Group, NativeSelect } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { translateOrQuote } from '../../api/translate-sentence.ts';
import type { CaseFile } from '../../api/types.ts';
import { loadLanguage } from '../../i18n/create-i18n.ts';
import { languages, mailLanguage } from '../../i18n/languages.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { withQuery } from '../../session/use-api.ts';
import { copyText } from '../../ui/display/copy-field.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { VendorWords } from '../../ui/display/server-text.tsx';
import { StatusLabel, TaskStatus, type Tone } from '../../ui/display/status-label.tsx';
import { type Format, useFormat, withSign } from '../../ui/display/use-format.ts';
import { Columns, Section } from '../../ui/page/section.tsx';
import { CopiedId, FactLink } from '../tasks/task/task-facts.tsx';
import taskClasses from '../tasks/task/task-page.module.css';
import { TaskTimeline, withStart } from '../tasks/task/task-timeline.tsx';
import { usePluginNames } from '../tasks/use-plugin-names.ts';
import classes from './case.module.css';
import { Audit } from './case-audit.tsx';

/** A case file: what can be answered at the left, the facts that it rests on at the right. */
export function CaseView({ file, hasLinks = false }: { file: CaseFile; hasLinks?: boolean }) {
  return (
    <Columns
      main={
        <>
          <Answer file={file} />
          {file.failures.length > 0 && <Failures file={file} hasLinks={hasLinks} />}
          {file.timeline.length > 0 && <TaskTimeline timeline={withStart(file.timeline, readStart(file))} />}
          {file.ledger.length > 0 && <Ledger file={file} hasLinks={hasLinks} />}
        </>
      }
      side={
        <>
          {file.money !== null && file.ledger.length === 0 && <Money money={file.money} />}
          <Facts facts={file.facts} timeline={file.timeline} isOfTask={file.kind === 'task'} hasLinks={hasLinks} />
          {file.audit.length > 0 && <Audit audit={file.audit} />}
        </>
      }
    />
  );
}

/** The answer in the language of the user whom it concerns, unless another is chosen. */
function Answer({ file }: { file: CaseFile }) {
  const { t, i18n } = useTranslation();
  const [language, setLanguage] = useState(file.language === '' ? i18n.language : mailLanguage(file.language));
  const [loaded, setLoaded] = useState(i18n.language);
  useEffect(() => {
    let isCurrent = true;
    void loadLanguage(i18n, language).then(() => isCurrent && setLoaded(language));
    return () => {
      isCurrent = false;
    };
  }, [i18n, language]);
  const isOfChannel = file.kind === 'channel';
  const translate = i18n.getFixedT(loaded) as TFunction;
  const lines = file.answer.map((said) => translateOrQuote(said, translate));
  const copy = async (): Promise<void> =>
    notifySuccess(t((await copyText(lines.join('\n'))) ? 'app.copied' : 'app.copyFailed'));
  return (
    <Section
      heading={t(isOfChannel ? 'case.summary' : 'case.answer')}
      intro={t(isOfChannel ? 'case.answerTeam' : 'case.answerIntro')}
    >
      <div className={classes.answer} lang={languages[loaded]?.tag}>
        {lines.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
      <Group gap="sm" align="end">
        <Button leftSection={<IconCopy size={17} stroke={1.6} aria-hidden="true" />} onClick={() => void copy()}>
          {t(isOfChannel ? 'case.copySummary' : 'case.copyAnswer')}
        </Button>
        <NativeSelect
          className={classes.language ?? ''}
          aria-label={t('case.answerLanguage')}
          value={language}
          onChange={({ currentTarget }) => setLanguage(currentTarget.value)}
          data={Object.entries(languages).map(([value, { name }]) => ({ value, label: name }))}
        />
      </Group>
    </Section>
  );
}

function Money({ money: { reserved, charged, refunded } }: { money: NonNullable<CaseFile['money']> }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Section heading={t('task.bill')}>
      <Pairs
        pairs={[
          [t('case.reserved'), format.exactMoney(reserved)],
          [t('case.charged'), charged === null ? t('case.notYet') : format.exactMoney(charged)],
          [t('case.refunded'), format.exactMoney(refunded)],
        ]}
      />
    </Section>
  );
}

type Fact = CaseFile['facts'][number];

const tones: Readonly<Record<string, Tone>> = { enabled: 'good', disabled: 'bad', resting: 'waiting' };

/** The status of what a case file is about, for beside the heading. */
export function CaseStatus({ kind, facts }: CaseFile) {
  const { t } = useTranslation();
  const status = facts.find(({ name }) => name === 'status')?.value;
  if (typeof status !== 'string') return null;
  if (kind === 'task') return <TaskStatus status={status} />;
  const text = states[status];
  return text === undefined ? null : <StatusLabel tone={tones[status] ?? 'quiet'}>{t(text)}</StatusLabel>;
}

/** States of tasks, accounts and channels. */
const states: Readonly<Record<string, TextKey>> = {
  NOT_START: 'task.status.NOT_START',
  SUBMITTED: 'task.status.SUBMITTED',
  QUEUED: 'task.status.QUEUED',
  IN_PROGRESS: 'task.status.IN_PROGRESS',
  SUCCESS: 'task.status.SUCCESS',
  FAILURE: 'task.status.FAILURE',
  enabled: 'case.state.enabled',
  disabled: 'case.state.disabled',
  resting: 'case.state.resting',
};

const factTexts: Readonly<Record<string, TextKey>> = {
  task: 'task.facts.id',
  model: 'task.facts.model',
  plugin: 'task.facts.plugin',
  api_key: 'tasks.key',
  group: 'task.facts.group',
  request_id: 'task.facts.request',
  created: 'case.fact.created',
  submitted: 'task.facts.submitted',
  sent: 'task.facts.sent',
  started: 'task.facts.started',
  ended: 'task.facts.ended',
  took: 'tasks.column.took',
  user: 'task.facts.user',
  channel: 'task.facts.channel',
  credential: 'case.fact.credential',
  upstream_model: 'task.facts.upstream',
  vendor_id: 'task.facts.vendorId',
  polls: 'task.facts.polls',
  poll_failures: 'case.fact.poll_failures',
  balance: 'case.fact.balance',
  spent_ever: 'case.fact.spent_ever',
  spent_30_days: 'case.fact.spent_30_days',
  succeeded_30_days: 'case.fact.succeeded_30_days',
  failed_30_days: 'case.fact.failed_30_days',
  requests_per_minute: 'case.fact.requests_per_minute',
  max_running: 'case.fact.max_running',
  last_sign_in: 'case.fact.last_sign_in',
  models: 'case.fact.models',
  groups: 'case.fact.groups',
  priority: 'case.fact.priority',
  succeeded_24_hours: 'case.fact.succeeded_24_hours',
  failed_24_hours: 'case.fact.failed_24_hours',
  usual_time: 'case.fact.usual_time',
  charged_ever: 'case.fact.charged_ever',
};

/** Where the page of what a fact names begins. */
const factPaths: Readonly<Record<string, string>> = {
  user: '/users/',
  channel: '/channels/',
  plugin: '/plugins/',
  api_key: '/keys/',
};

/** Ids with a button that copies them. */
const copiedFacts: ReadonlySet<string> = new Set(['task', 'request_id']);
/** Facts that are copied rather than read. */
const codeFacts: ReadonlySet<string> = new Set(['task', 'model', 'request_id', 'upstream_model', 'vendor_id']);

type FactsProps = { facts: readonly Fact[]; timeline: CaseFile['timeline']; isOfTask: boolean; hasLinks: boolean };

function Facts({ facts, timeline, isOfTask, hasLinks }: FactsProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const isAdmin = useRole() >= roles.admin;
  const own = useSessionSnapshot().bundle?.user.id;
  const user = facts.find(({ name }) => name === 'user');
  // Those who only see their own files are not told whose they are.
  const isOwn = user === undefined ? !isAdmin : 'id' in user && user.id === own;
  return (
    <Section heading={t('task.facts.heading')}>
      <Pairs
        pairs={facts.flatMap((fact) => {
          const label = factTexts[fact.name];
          const id = 'id' in fact ? String(fact.id ?? '') : '';
          const said = describeFact(fact, t, format);
          const shown = fact.name === 'plugin' && hasLinks ? <PluginName said={said} pluginKey={id} /> : said;
          const isReadable = fact.name === 'api_key' ? isOwn : isAdmin;
          const start = hasLinks && isReadable && id !== '' ? factPaths[fact.name] : undefined;
          const value = copiedFacts.has(fact.name) ? (
            <CopiedId id={said} />
          ) : start === undefined ? (
            shown
          ) : (
            <FactLink to={`${start}${encodeURIComponent(id)}`}>{shown}</FactLink>
          );
          // The heading shows the status, and most tasks have nothing special.
          if (fact.name === 'status') return [];
          if (isOfTask && (isUsual(fact, facts) || isInTimeline(fact, timeline))) return [];
          return label === undefined ? [] : [[t(label), value, codeFacts.has(fact.name)] as const];
        })}
      />
    </Section>
  );
}

/** The timeline says when the task was sent, began and ended. */
const isInTimeline = ({ name }: Fact, timeline: CaseFile['timeline']): boolean =>
  timeline.length > 0 && ['sent', 'started', 'ended'].includes(name);

/** When the vendor began, in Unix seconds; 0: that is not known. */
const readStart = ({ facts }: CaseFile): number => Number(facts.find(({ name }) => name === 'started')?.value ?? 0);

/** Whether a fact goes without saying: no poll failed, or the vendor has the same model name. */
const isUsual = ({ name, value }: Fact, facts: readonly Fact[]): boolean =>
  (name === 'poll_failures' && value === 0) ||
  (name === 'upstream_model' && value === facts.find((fact) => fact.name === 'model')?.value);

/** A plugin by its name instead of its key. */
function PluginName({ said, pluginKey }: { said: string; pluginKey: string }) {
  return said.replace(pluginKey, usePluginNames().get(pluginKey) ?? pluginKey);
}

function describeFact(fact: Fact, t: TFunction, format: Format): string {
  switch (fact.as) {
    case 'state': {
      const key = states[fact.value];
      return key === undefined ? fact.value : t(key);
    }
    case 'time':
      return format.exactTime(fact.value);
    case 'seconds':
      return format.duration(fact.value);
    case 'quota':
      return format.money(fact.value);
    case 'number':
      return format.number(fact.value);
    default:
      return fact.value;
  }
}

type Pair = readonly [label: string, value: ReactNode, isCode?: boolean];

const Pairs = ({ pairs }: { pairs: readonly Pair[] }) => (
  <dl className={taskClasses.facts}>
    {pairs.map(([label, value, isCode]) => (
      <div key={label} className={taskClasses.fact}>
        <dt>{label}</dt>
        <dd data-code={isCode || undefined}>{value}</dd>
      </div>
    ))}
  </dl>
);

/** Why tasks failed; each reason leads to its tasks. */
function Failures({ file: { kind, id, failures }, hasLinks }: { file: CaseFile; hasLinks: boolean }) {
  const { t } = useTranslation();
  const format = useFormat();
  const isLinked = useRole() >= roles.admin && hasLinks;
  const tasksPath = (reason: string): string =>
    withQuery('/tasks', {
      ...{ scope: 'all', status: 'FAILURE', [kind]: id, reason },
      period: kind === 'channel' ? '24h' : '30d',
    });
  return (
    <Section heading={t(kind === 'channel' ? 'case.failuresOfDay' : 'case.failures')}>
      <ul className={classes.rows}>
        {failures.map(({ reason, sentence, tasks }) => {
          const words = <VendorWords text={reason} sentence={sentence} />;
          return (
            <li key={reason}>
              <span>{isLinked ? <FactLink to={tasksPath(reason)}>{words}</FactLink> : words}</span>
              <span className={classes.note}>
                {t('tasks.failedCount', { count: tasks, shown: format.number(tasks) })}
              </span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

/** Kinds of lines that stand in a ledger. */
const lineTexts: Readonly<Record<string, TextKey>> = {
  reserve: 'case.reserved',
  settle: 'case.line.settle',
  refund: 'case.line.refund',
  grant: 'case.line.grant',
  topup: 'case.line.topup',
  adjust: 'case.line.adjust',
  storage: 'case.line.storage',
  carried: 'case.line.carried',
  task_charged: 'case.charged',
  task_refunded: 'task.status.FAILURE',
  task_reserved: 'case.reserved',
};

/** How the balance changed; of a task, what it came to. */
function Ledger({ file: { kind, ledger, money, said }, hasLinks }: { file: CaseFile; hasLinks: boolean }) {
  const { t } = useTranslation();
  const format = useFormat();
  const isOfAccount = kind === 'user';
  // Why a task failed stands in its timeline.
  const isNoted = ({ note }: CaseFile['ledger'][number]): boolean => note !== '' && note !== said?.text;
  return (
    <Section heading={t(money === null ? 'task.bill.ledger' : 'task.bill')}>
      <ul className={`${classes.rows} ${classes.ledger}`}>
        {ledger.map((line, index) => {
          const task = isOfAccount ? line.task_id : null;
          const about = line.model ?? task ?? '';
          return (
            <li key={index}>
              <span>
                {t(lineTexts[line.kind] ?? 'case.line.adjust')}
                {about !== '' && ' · '}
                {hasLinks && task !== null ? <Link to={`/tasks/${encodeURIComponent(task)}`}>{about}</Link> : about}
                <span className={classes.note}>
                  {line.kind === 'task_refunded' &&
                    ` · ${t('ledger.refunded', { reserved: format.exactMoney(line.reserved ?? 0) })}`}
                  {isNoted(line) && ' · '}
                  {isNoted(line) && <VendorWords text={line.note} sentence={line.note_sentence} />}
                </span>
              </span>
              <span>{withSign(line.amount, format.exactMoney)}</span>
              <span className={classes.note}>{format.exactTime(line.created_at)}</span>
            </li>
          );
        })}
        {money !== null && (
          <li className={classes.sum}>
            <span>{t('case.charged')}</span>
            <span>{money.charged === null ? t('case.notYet') : format.exactMoney(money.charged)}</span>
          </li>
        )}
      </ul>
    </Section>
  );
}
