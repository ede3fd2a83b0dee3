import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { Fragment, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { isObject } from '../../../kernel/json.ts';
import { ApiError } from '../../api/api-error.ts';
import { type SaidSentence, translateSentence } from '../../api/translate-sentence.ts';
import type { MarketplaceSourceText, PluginDetail } from '../../api/types.ts';
import { loadPluginRules } from '../../i18n/create-i18n.ts';
import { copyText } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { WithCode } from '../../ui/display/with-code.tsx';
import classes from './plugins.module.css';

type PluginError = PluginDetail['errors'][number];

/**
 * Why a plugin was rejected: all errors of its source with their positions, or the single reason.
 */
export function PluginErrors({ error, file }: { error: Error; file?: string | undefined }) {
  const { t } = useTranslation();
  const errors = error instanceof ApiError && error.code === 'PLUGIN_INVALID' ? readPluginErrors(error.details) : [];
  const needs = error instanceof ApiError && error.code === 'PLUGIN_INVALID' ? readNeeds(error.details) : [];
  const copyErrors = async (): Promise<void> =>
    notifySuccess(t((await copyText(errors.map(toLine).join('\n'))) ? 'app.copied' : 'app.copyFailed'));
  if (needs.length > 0) return <NewerContract needs={needs} />;
  if (error instanceof ApiError && error.code === 'PLUGIN_ICON_INVALID') return <IconError error={error} />;
  if (errors.length === 0) return <ErrorNotice error={error} />;
  return (
    <PluginAlert title={t(file === undefined ? 'plugins.faults' : 'plugins.faultsOf', { file })}>
      <Group gap="sm" justify="space-between">
        <Text size="sm">{t('plugins.faults.author')}</Text>
        <Button variant="default" size="xs" onClick={() => void copyErrors()}>
          {t('plugins.faults.copy')}
        </Button>
      </Group>
      <PluginErrorList errors={errors} />
    </PluginAlert>
  );
}

/** For the author, in the language of the contract. */
const toLine = ({ path, message, hint, line, column }: PluginError): string =>
  [line === undefined ? '' : `${line}:${column ?? 1}`, path, message, hint ?? ''].filter(Boolean).join(' ');

/** What stands in a plugin's way. */
function PluginAlert({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <Alert
      color="red"
      variant="light"
      role="alert"
      icon={<IconAlertTriangle stroke={1.6} aria-hidden="true" />}
      title={title}
    >
      {children}
    </Alert>
  );
}

/** Says that another plugin has what this one claims. */
export function ConflictAlert({ conflict }: { conflict: SaidSentence & { with: string } }) {
  const { t } = useTranslation();
  return (
    <PluginAlert title={t('plugins.preview.conflict', { key: conflict.with })}>
      <Text size="sm">
        <ServerText text={conflict.message} sentence={conflict} />
      </Text>
    </PluginAlert>
  );
}

/** The names of what is needed help only its author. */
export function NewerContract({ needs }: { needs: readonly ContractNeed[] }) {
  const { t } = useTranslation();
  return (
    <PluginAlert title={t('plugins.newerContract', { needs: describeNeeds(needs, t) })}>
      <Text size="sm">{t('plugins.newerContract.text')}</Text>
    </PluginAlert>
  );
}

function IconError({ error }: { error: ApiError }) {
  return (
    <PluginAlert>
      <RuleText said={error} />
    </PluginAlert>
  );
}

/** Rules of the contract, for the plugin's author. */
export function PluginErrorList({ errors }: { errors: readonly PluginError[] }) {
  const { t } = useTranslation();
  const missing = errors.filter(isMissingExport);
  if (!usePluginRules()) return null;
  return (
    <ul className={classes.faults}>
      {(missing.length > 1 ? errors.filter((error) => !isMissingExport(error)) : errors).map(
        ({ path, rule, message, reason, params, hint, hint_sentence: hintSentence, line, column }) => (
          <li key={`${path} ${rule} ${line} ${column} ${message}`}>
            {/* Before the message, which says something of it. The manifest as a whole has no path. */}
            {(path !== '' || line !== undefined) && (
              <Text size="xs" c="dimmed" mb={2}>
                {path !== '' && <Code>{path}</Code>}{' '}
                {line !== undefined && t('plugins.faultPlace', { line, column: column ?? 1 })}
              </Text>
            )}
            <RuleText said={{ message, reason, params }} />
            {hint !== undefined && (
              <div>
                <RuleText said={{ ...hintSentence, message: hint }} />
              </div>
            )}
          </li>
        ),
      )}
      {missing.length > 1 && (
        <li>
          <div>{t('plugins.faults.exports')}</div>
          {missing.map(({ path }) => (
            <Fragment key={path}>
              <Code>{path.slice(exportPath.length)}</Code>{' '}
            </Fragment>
          ))}
        </li>
      )}
    </ul>
  );
}

const exportPath = 'exports/';

/** A function that every plugin has: a file that is no plugin misses them all. */
const isMissingExport = ({ path, rule, params }: PluginError): boolean =>
  rule === 'export.required' &&
  path.startsWith(exportPath) &&
  isObject(params?.why) &&
  params.why.reason === 'fault.why_every';

/** What a parser or the plugin says stays as it is. */
export function RuleText({ said }: { said: SaidSentence }) {
  const { t } = useTranslation();
  if (!usePluginRules()) return null;
  const text = translateSentence(said, t);
  return (
    <span className={classes.rule} {...(text === null ? { lang: 'en' } : {})}>
      <WithCode text={text ?? said.message} isMarked />
    </span>
  );
}

const readPluginErrors = (details: unknown): PluginError[] => readList(details, 'errors') as PluginError[];
const readNeeds = (details: unknown): ContractNeed[] => readList(details, 'needs') as ContractNeed[];

function readList(details: unknown, name: string): unknown[] {
  const list = isObject(details) ? details[name] : undefined;
  return Array.isArray(list) ? list : [];
}

type ContractNeed = MarketplaceSourceText['needs'][number];

/** What a plugin needs of a newer contract, in words. */
export const describeNeeds = (needs: readonly ContractNeed[], t: TFunction): string =>
  needs
    .map((need) =>
      need.code === 'api'
        ? t('plugins.need.api', { version: need.version })
        : t(`plugins.need.${need.code}`, { name: need.name }),
    )
    .join(', ');

/**
 * Loads what the gateway says about faulty plugins in the user's language. True once the texts are
 * there, or cannot be loaded: then the rules are in English.
 */
function usePluginRules(): boolean {
  const { i18n } = useTranslation();
  const { isPending } = useQuery({
    queryKey: ['plugin-rules', i18n.language],
    queryFn: async () => {
      await loadPluginRules(i18n);
      return true;
    },
    staleTime: Infinity,
  });
  return !isPending;
}
