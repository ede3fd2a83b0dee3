import { Alert, Button, Code, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { pluginPath } from '../../api/plugin-paths.ts';
import type { PluginDryRun, PluginSummary, PluginVersion } from '../../api/types.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { CodeEditor } from '../../ui/code/code-editor.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useForm } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import { RuleText } from './plugin-errors.tsx';
import classes from './plugins.module.css';

type Values = { hook: string; version: string; args: string };
type DryRunBody = { hook: string; path: string[]; args: unknown[]; version?: string };

/** Calls one hook with given arguments. Nothing is sent to a vendor or stored. */
export function DryRunTab({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const path = pluginPath(plugin.key);
  const versions = useApiQuery<PluginVersion[]>(`${path}/versions`);
  const [outcome, setOutcome] = useState<PluginDryRun | null>(null);
  const change = useApiMutation<DryRunBody, PluginDryRun>({
    request: (body) => ({ method: 'POST', path: `${path}/dryrun`, body, timeoutMs: 60_000 }),
    onSuccess: setOutcome,
    onError: () => setOutcome(null),
  });
  const model = plugin.meta?.models[0] ?? '';
  const form = useForm<Values, DryRunBody>({
    initial: { hook: 'buildSubmitRequest', version: '', args: sampleArguments('buildSubmitRequest', model) },
    validate: ({ hook, args }) => ({
      hook: hook.trim() === '' ? t('plugins.dryrun.hookMissing') : null,
      args: readArguments(args) === null ? t('plugins.dryrun.argsWrong') : null,
    }),
    toVariables: ({ hook, version, args }) => {
      const [name = '', ...rest] = hook.trim().split('.');
      return { hook: name, path: rest, args: readArguments(args) ?? [], ...(version === '' ? {} : { version }) };
    },
    change,
  });
  const stored = (versions.data ?? []).map(({ version }) => version);
  const serving = plugin.meta?.version;
  const servingLabel = [t('plugins.dryrun.serving'), serving === undefined ? '' : `(${serving})`].join(' ').trim();
  const fillSample = (): void => form.set('args', sampleArguments(form.values.hook.trim(), model));

  return (
    <Section heading={t('plugins.tab.dryrun')} intro={t('plugins.dryrun.intro')}>
      <form onSubmit={form.submit} noValidate>
        <datalist id="plugin-hooks">
          {Object.keys(listSamples(model)).map((hook) => (
            <option key={hook} value={hook} />
          ))}
        </datalist>
        <Stack gap="lg">
          <div className={classes.dryRunFields}>
            <TextInput
              {...form.bind('hook')}
              list="plugin-hooks"
              label={t('plugins.dryrun.hook')}
              description={t('plugins.dryrun.hookHint')}
              spellCheck={false}
              autoCapitalize="none"
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
            {stored.length > 0 && (
              <Select
                {...form.bindValue('version')}
                onChange={(version) => form.set('version', version ?? '')}
                label={t('plugins.version')}
                description={t('plugins.dryrun.versionHint')}
                data={[{ value: '', label: servingLabel }, ...stored]}
                allowDeselect={false}
              />
            )}
          </div>
          <div className={classes.dryRun}>
            <Stack gap="md">
              <div>
                <Group justify="space-between" h={30} mb={8}>
                  <PaneLabel>{t('plugins.dryrun.args')}</PaneLabel>
                  <Button variant="subtle" size="xs" onClick={fillSample}>
                    {t('plugins.dryrun.sample')}
                  </Button>
                </Group>
                <CodeEditor
                  label={t('plugins.dryrun.args')}
                  language="json"
                  value={form.values.args}
                  onChange={(args) => form.set('args', args)}
                  height={360}
                />
                {form.readError('args') !== null && (
                  <Text size="sm" c="var(--mantine-color-error)" mt={6} role="alert">
                    {form.readError('args')}
                  </Text>
                )}
              </div>
              <Group justify="flex-end">
                <Button type="submit" loading={form.isPending}>
                  {t('plugins.dryrun.run')}
                </Button>
              </Group>
            </Stack>
            {change.error !== null ? (
              <RunFailure error={change.error} />
            ) : outcome === null ? (
              <div>
                <PaneLabel>{t('plugins.dryrun.resultLabel')}</PaneLabel>
                <div className={classes.noResult}>{t('plugins.dryrun.none')}</div>
              </div>
            ) : (
              <RunOutcome outcome={outcome} />
            )}
          </div>
        </Stack>
      </form>
    </Section>
  );
}

/** A heading as high as the button beside another one. */
const PaneLabel = ({ children }: { children: ReactNode }) => (
  <Text size="sm" fw={600} lh="30px">
    {children}
  </Text>
);

function RunOutcome({ outcome: { result, console, ms } }: { outcome: PluginDryRun }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Stack gap={8} role="status">
      <PaneLabel>{t('plugins.dryrun.result', { ms: format.number(toTenths(ms)) })}</PaneLabel>
      <CodeEditor label={t('plugins.dryrun.resultLabel')} language="json" value={JSON.stringify(result, null, 2)} />
      <ConsoleLines lines={console} />
    </Stack>
  );
}

/** No call takes no time at all. */
const toTenths = (ms: number): number => Math.max(0.1, Math.round(ms * 10) / 10);

/** The hook's error with its console output; other errors as everywhere. */
function RunFailure({ error }: { error: Error }) {
  const { t } = useTranslation();
  if (!(error instanceof ApiError) || error.code !== 'PLUGIN_HOOK_FAILED') return <ErrorNotice error={error} />;
  const { console, line, column } = (error.details ?? {}) as { console?: string[]; line?: number; column?: number };
  return (
    <Stack gap="sm">
      <Alert color="red" variant="light" role="alert" title={t('plugins.dryrun.failed')}>
        <Text size="sm">
          <RuleText said={error} />
        </Text>
        {line !== undefined && (
          <Text size="xs" c="dimmed" mt={4}>
            {t('plugins.faultPlace', { line, column: column ?? 1 })}
          </Text>
        )}
      </Alert>
      <ConsoleLines lines={console ?? []} />
    </Stack>
  );
}

function ConsoleLines({ lines }: { lines: readonly string[] }) {
  const { t } = useTranslation();
  if (lines.length === 0) return null;
  return (
    <div>
      <PaneLabel>{t('plugins.dryrun.console')}</PaneLabel>
      <Code block>{lines.join('\n')}</Code>
    </div>
  );
}

/** The arguments as an array; null if the text is not a JSON array. */
function readArguments(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const task = 'task_0123456789abcdef';

/** Sample arguments for a hook; one empty object for unknown hooks. */
const sampleArguments = (hook: string, model: string): string =>
  JSON.stringify(listSamples(model)[hook] ?? [{}], null, 2);

/** The hooks of a plugin with sample arguments. */
function listSamples(model: string): Readonly<Record<string, unknown[]>> {
  const driver = {
    method: 'POST',
    path: '/v1/tasks/example',
    params: {},
    query: {},
    body: { kind: 'json', value: { model, prompt: 'A lighthouse in the fog' } },
    requestBody: { model, prompt: 'A lighthouse in the fog' },
    requestHeaders: { 'Content-Type': 'application/json' },
    files: [],
    action: 'generate',
    publicTaskId: task,
    model,
    upstreamModel: model,
    baseUrl: 'https://api.example.com',
    authHeader: 'sk-example',
    apiKey: 'sk-example',
  };
  const query = {
    taskId: 'vendor-job-1',
    publicTaskId: task,
    action: 'generate',
    model,
    upstreamModel: model,
    baseUrl: 'https://api.example.com',
    authHeader: 'sk-example',
    apiKey: 'sk-example',
    data: { id: 'vendor-job-1', status: 'running' },
    state: null,
  };
  const artifact = {
    taskId: task,
    status: 'SUCCESS',
    action: 'generate',
    data: { id: 'vendor-job-1', status: 'done', url: 'https://cdn.example.com/video.mp4' },
    state: null,
    producerVersion: '',
  };
  const answer = { id: 'vendor-job-1', status: 'running', progress: 40 };
  return {
    buildSubmitRequest: [driver],
    extractUsage: [{ ...driver, usagePurpose: 'facts' }],
    extractUsageOnSubmit: [driver, answer],
    parseSubmitResponse: [driver, { statusCode: 200, headers: {}, body: { id: 'vendor-job-1' } }],
    parseSubmitError: [{ statusCode: 400, headers: {}, body: { error: { message: 'seconds: 5 or 10' } } }, driver],
    buildQueryRequest: [query],
    parseTaskResult: [query, answer, { status: 200, headers: {} }],
    buildBatchQueryRequest: [{ baseUrl: query.baseUrl, authHeader: query.authHeader, tasks: [query] }],
    extractUsageOnComplete: [query, { status: 'SUCCESS', progress: '100%' }, artifact.data],
    listArtifacts: [artifact],
    resolveArtifact: [
      artifact,
      'video',
      { upstreamTaskId: 'vendor-job-1', baseUrl: query.baseUrl, authHeader: query.authHeader },
    ],
    buildContentRequest: [
      {
        ...artifact,
        upstreamTaskId: 'vendor-job-1',
        artifactKey: 'video',
        baseUrl: query.baseUrl,
        authHeader: query.authHeader,
        clientRequest: { method: 'GET', headers: {} },
      },
    ],
  };
}
