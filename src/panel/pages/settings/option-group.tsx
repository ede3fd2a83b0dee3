import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Fragment, useEffect, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import { fieldMessage } from '../../api/error-message.ts';
import type { Option, OptionTestResult as Trial } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { TrialSteps } from '../../ui/display/trial-steps.tsx';
import { WithCode } from '../../ui/display/with-code.tsx';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SaveBar } from '../../ui/form/save-bar.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useMutationWithProof } from '../../ui/security-proof/security-proof.tsx';
import { PriceReplay } from '../prices/price-replay.tsx';
import { EncryptionRow } from './encryption-row.tsx';
import { isAdvanced, isIdle, keepsNothing, withSwitchLast } from './option-conditions.ts';
import { OptionGroupHeader, useHasNoBackups } from './option-group-header.tsx';
import { OptionInput } from './option-input.tsx';
import { findOptionRisks } from './option-risks.ts';
import { explainGroup, explainOption, isEncryption, nameGroup, nameOption } from './option-texts.ts';
import { optionUnits } from './option-units.ts';
import classes from './settings.module.css';
import { type OptionDrafts, useOptionDrafts, validateOption } from './use-option-drafts.ts';

/** Shown apart from what is deleted. */
const cleanupWindow = ['retention.start_hour', 'retention.hours'];
/** What a test cannot do without, and what is said while it is missing. */
const trialNeeds: Readonly<Record<string, { keys: readonly string[]; text: TextKey }>> = {
  webhook: { keys: ['alerts.webhook_url', 'alerts.webhook_secret'], text: 'settings.testNeedsWebhook' },
  turnstile: { keys: ['TurnstileSiteKey', 'TurnstileSecretKey'], text: 'settings.testNeedsKeys' },
  oidc: {
    keys: ['oidc.client_id', 'oidc.client_secret', 'oidc.well_known'],
    text: 'settings.testNeedsProvider',
  },
  telegram: { keys: ['TelegramBotToken', 'TelegramBotName'], text: 'settings.testNeedsBot' },
  wechat: { keys: ['WeChatServerAddress', 'WeChatServerToken'], text: 'settings.testNeedsServer' },
};

type OptionGroupProps = {
  group: string;
  /** All options: a risk may depend on options of other groups. */
  options: readonly Option[];
};

/** The options of one group, saved together. */
export function OptionGroup({ group, options }: OptionGroupProps) {
  const { t, i18n } = useTranslation();
  const confirm = useConfirm();
  const { hash } = useLocation();
  const own = withSwitchLast(options.filter((option) => option.group === group));
  const drafts = useOptionDrafts(own, t('settings.saved'));
  const [isSubmitted, setSubmitted] = useState(false);
  const count = drafts.changes.length;
  const trial = own.find((option) => option.trial !== undefined)?.trial;
  const intro = explainGroup(i18n, group);
  const hasNoBackups = useHasNoBackups(group === 'backups');

  useEffect(() => {
    if (hash === '') return;
    const row = document.getElementById(decodeURIComponent(hash.slice(1)));
    row?.scrollIntoView({ block: 'center' });
    const field = row?.querySelector<HTMLElement>('input, textarea') ?? row?.querySelector('button');
    field?.focus({ preventScroll: true });
  }, [hash]);

  const readValidationError = (option: Option): string | null =>
    drafts.isChanged(option.key) ? validateOption(i18n, option, drafts.valueFor(option)) : null;

  const save = async (): Promise<void> => {
    // At once: the field to focus is known by its error.
    flushSync(() => setSubmitted(true));
    const firstInvalid = own.find((option) => readValidationError(option) !== null);
    if (firstInvalid !== undefined) {
      const row = document.getElementById(`option-${firstInvalid.key}`);
      const field = row?.querySelector<HTMLElement>('[aria-invalid="true"]') ?? row?.querySelector('input, textarea');
      if (field instanceof HTMLElement) field.focus();
      return;
    }
    const read = (key: string): string => {
      const option = options.find((each) => each.key === key);
      return option === undefined ? '' : drafts.valueFor(option);
    };
    const risks = findOptionRisks(
      drafts.changes.map(({ key }) => key),
      read,
    );
    const isConfirmed =
      risks.length === 0 ||
      (await confirm({
        title: t('settings.warnTitle'),
        text: <Risks texts={risks.map((risk) => t(risk))} />,
        action: t('settings.warnAction'),
      }));
    if (isConfirmed) drafts.save();
  };

  // Nothing else is of use before there is a place for backups.
  const shownOptions = hasNoBackups ? own.filter(({ key }) => key === 'backup.daily') : own;
  const folded = shownOptions.filter(isAdvanced);
  const isBlocked = (option: Option): boolean =>
    (hasNoBackups && drafts.valueFor(option) !== 'true') || isIdle(option, own, drafts);
  const renderRows = (shown: readonly Option[]) =>
    shown
      .filter(({ key }) => !isEncryption(key))
      .map((option) => (
        <Fragment key={option.key}>
          <OptionRow
            option={option}
            drafts={drafts}
            validationError={isSubmitted ? readValidationError(option) : null}
            isDisabled={isBlocked(option)}
          />
          {option.key === 'retention.enabled' && (
            <div className={classes.keptHead} aria-hidden="true">
              <span>{t('settings.retention.data')}</span>
              <span>{t('settings.retention.keep')}</span>
            </div>
          )}
          {option.key === 'results.keep_inputs' && keepsNothing(own, drafts) && (
            <Text size="sm" className={classes.note ?? ''}>
              {t('settings.results.keptBefore')}
            </Text>
          )}
          {option.key === 'SMTPPort' && <EncryptionRow options={own} drafts={drafts} />}
        </Fragment>
      ));
  const outcome = (
    <>
      {drafts.error !== null && <ErrorNotice error={drafts.error} />}
      {drafts.needsForce && <ForceNotice drafts={drafts} />}
    </>
  );
  return (
    <Stack gap="lg">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (count > 0) void save();
        }}
      >
        <Stack gap="lg">
          <Section heading={t(nameGroup(group))} {...(intro === null ? {} : { intro: t(intro) })}>
            <div className={classes.rows}>
              <OptionGroupHeader group={group} />
              {renderRows(shownOptions.filter((option) => !cleanupWindow.includes(option.key) && !isAdvanced(option)))}
              {folded.length > 0 && (
                <div className={classes.row}>
                  <Collapsible
                    label={t('channels.advanced')}
                    note={folded.map(({ key }) => t(nameOption(key))).join(' · ')}
                    forceOpen={folded.some(
                      (option) => drafts.valueFor(option) !== option.default || hash.endsWith(option.key),
                    )}
                  >
                    {renderRows(folded)}
                  </Collapsible>
                </div>
              )}
            </div>
            {group !== 'retention' && outcome}
          </Section>
          {group === 'retention' && (
            <Section heading={t('settings.cleanupWindow')}>
              <div className={classes.rows}>{renderRows(own.filter(({ key }) => cleanupWindow.includes(key)))}</div>
              {outcome}
            </Section>
          )}
        </Stack>
        <SaveBar count={count} isPending={drafts.isPending} onDiscard={drafts.discard} />
      </form>
      {trial !== undefined && (
        <OptionTrial
          what={trial}
          isDirty={count > 0}
          isMissing={(trialNeeds[trial]?.keys ?? []).some((key) => own.find((each) => each.key === key)?.value === '')}
        />
      )}
    </Stack>
  );
}

type OptionRowProps = {
  option: Option;
  drafts: OptionDrafts;
  validationError: string | null;
  isDisabled: boolean;
};

function OptionRow({ option, drafts, validationError, isDisabled }: OptionRowProps) {
  const { t, i18n } = useTranslation();
  const fieldError = drafts.findError(option.key);
  const savedError = fieldError === null ? null : fieldMessage(fieldError, t, i18n.language);
  return (
    <div
      id={`option-${option.key}`}
      className={classes.row}
      data-disabled={isDisabled || undefined}
      data-kept={optionUnits[option.key] === 'day' || undefined}
      data-changed={drafts.isChanged(option.key) || undefined}
    >
      <OptionInput
        option={option}
        value={drafts.valueFor(option)}
        label={t(nameOption(option.key))}
        help={<WithCode isMarked text={t(explainOption(option.key))} />}
        isDisabled={isDisabled}
        error={validationError ?? (drafts.isBound(option.key) ? t('settings.bound') : savedError)}
        onChange={(value) => drafts.set(option.key, value)}
      />
      {option.key === 'groups' && validationError === null && drafts.isChanged(option.key) && (
        <GroupReplay value={drafts.valueFor(option)} />
      )}
    </div>
  );
}

/** What the charges of the last 30 days would have been with the ratios that are typed. */
function GroupReplay({ value }: { value: string }) {
  const ratios = readRatios(value);
  return ratios === null ? null : <PriceReplay tried={{ group_ratios: ratios }} />;
}

function readRatios(text: string): Record<string, number> | null {
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found !== 'object' || found === null) return null;
    const entries = Object.entries(found);
    const isComplete = entries.every(([, ratio]) => typeof ratio === 'number' && ratio >= 0);
    return isComplete ? Object.fromEntries(entries) : null;
  } catch {
    return null;
  }
}

function Risks({ texts }: { texts: readonly string[] }) {
  return (
    <Stack gap="sm">
      {texts.map((text) => (
        <Text key={text} size="sm">
          {text}
        </Text>
      ))}
    </Stack>
  );
}

/** Shown when identities are bound to a provider whose address changes. */
function ForceNotice({ drafts }: { drafts: OptionDrafts }) {
  const { t } = useTranslation();
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<IconAlertTriangle size={20} stroke={1.6} aria-hidden="true" />}
      title={t('settings.force')}
    >
      <Text size="sm" mb="sm">
        {t('settings.forceHelp')}
      </Text>
      <Button variant="default" size="xs" loading={drafts.isPending} onClick={() => drafts.save(true)}>
        {t('settings.forceAction')}
      </Button>
    </Alert>
  );
}

type OptionTrialProps = {
  what: NonNullable<Option['trial']>;
  isDirty: boolean;
  /** Whether settings are missing that the test cannot do without. */
  isMissing: boolean;
};

const trialActions: Readonly<Record<string, TextKey>> = { smtp: 'settings.testMail', webhook: 'settings.testSend' };

/** Tests the stored settings and shows each step. */
function OptionTrial({ what, isDirty, isMissing }: OptionTrialProps) {
  const { t } = useTranslation();
  const { bundle } = useSessionSnapshot();
  const [to, setTo] = useState('');
  const change = useMutationWithProof<string, Trial>({
    scope: 'settings.security',
    request: (address) => ({
      method: 'POST',
      path: '/api/option/test',
      body: { what, ...(address === '' ? {} : { to: address }) },
      timeoutMs: 60_000,
    }),
  });
  const missing = trialNeeds[what]?.text ?? 'settings.testHelp';
  const help = what === 'turnstile' ? 'settings.testKeysHelp' : 'settings.testHelp';
  const intro = isDirty ? 'settings.testDirty' : isMissing ? missing : help;
  return (
    <Section heading={t('settings.test')} intro={t(intro)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(to.trim());
        }}
        noValidate
      >
        <Group gap="sm" align="end">
          {what === 'smtp' && (
            <TextInput
              label={t('settings.testTo')}
              description={t(bundle?.user.email === null ? 'settings.testToMissing' : 'settings.testToHelp')}
              type="email"
              autoComplete="off"
              flex="1 1 260px"
              maw={420}
              value={to}
              onChange={(event) => setTo(event.currentTarget.value)}
            />
          )}
          <Button type="submit" variant="default" disabled={isDirty || isMissing} loading={change.isPending}>
            {t(trialActions[what] ?? 'settings.testRun')}
          </Button>
        </Group>
      </form>
      {change.isError && <ErrorNotice error={change.error} />}
      {change.data !== undefined && !change.isPending && <TrialSteps {...change.data} />}
    </Section>
  );
}
