import { Alert, Button, Group, List, Select, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import { isModelConflict, pluginDependentPaths } from '../../api/plugin-paths.ts';
import type {
  MarketplaceInstall,
  MarketplacePlugin,
  MarketplaceSource,
  MarketplaceSourceText,
  PluginPreview,
} from '../../api/types.ts';
import { localise, type TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery, withQuery } from '../../session/use-api.ts';
import { CodeDiff, CodeEditor } from '../../ui/code/code-editor.tsx';
import { ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { BackLink, ExternalLink } from '../../ui/page/links.tsx';
import { Page, useScopedNavigate } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PreviewChanges, PreviewReplay } from '../plugins/activation-preview.tsx';
import { ChangelogSection } from '../plugins/change-log.tsx';
import { PermissionSection, readHost } from '../plugins/permission-list.tsx';
import { NewerContract, PluginErrorList, PluginErrors, RuleText } from '../plugins/plugin-errors.tsx';
import classes from '../plugins/plugins.module.css';
import { MarketState, TrustLabel, TrustNotice } from './offer-labels.tsx';

type Install = { version: string; sha256: string; force?: boolean; share_models?: boolean };

/**
 * One plugin of the marketplace: what it is, which hosts it may reach, its source beside the active
 * one, and its installation.
 */
export function MarketplacePluginPage() {
  const { t } = useTranslation();
  const { source = '', key = '' } = useParams();
  const offers = useApiQuery<MarketplaceSource[]>('/api/plugin/task/marketplace');
  const offer = offers.data?.find((each) => each.source.name === source);
  const plugin = offer?.plugins.find((each) => each.key === key);
  if (plugin !== undefined) return <PluginOffer plugin={plugin} source={source} trust={offer?.trust ?? null} />;
  return (
    <Page heading={key} back={<BackLink to="/marketplace">{t('nav.marketplace')}</BackLink>}>
      <QueryResult query={offers}>
        {() => (
          <ResourceNotFound
            heading={t('market.gone')}
            text={t('market.goneText', { key, source })}
            list={{ to: '/marketplace', name: 'nav.marketplace' }}
          />
        )}
      </QueryResult>
    </Page>
  );
}

/** The code of an offered version, and what the gateway reads in it. */
const useSource = ({ source, key, version }: { source: string; key: string; version: string | undefined }) =>
  useApiQuery<MarketplaceSourceText>(
    withQuery('/api/plugin/task/marketplace/source', { source, key, version: version ?? '' }),
    { keepPrevious: false, enabled: version !== undefined },
  );

function Mark({ name, pluginKey, version }: { name: string; pluginKey: string; version: string }) {
  return (
    <Text size="sm" c="dimmed">
      {[...(pluginKey === name ? [] : [pluginKey]), version].join(' · ')}
    </Text>
  );
}

type OfferProps = { plugin: MarketplacePlugin; source: string; trust: MarketplaceSource['trust'] };

function PluginOffer({ plugin, source, trust }: OfferProps) {
  const { t, i18n } = useTranslation();
  const navigate = useScopedNavigate();
  const confirm = useConfirm();
  const [params, setParams] = useSearchParams();
  const version = params.get('version') ?? plugin.offered ?? plugin.latest;
  const offered = plugin.versions.find((each) => each.version === version);
  const text = useSource({ source, key: plugin.key, version });
  const isDifferent = (text.data?.differences.length ?? 0) > 0;
  // The code says what an index may keep silent about.
  const description =
    localise(plugin.description, i18n.language) || localise(text.data?.meta?.description, i18n.language);
  const name = plugin.name === plugin.key ? (text.data?.meta?.name ?? plugin.key) : plugin.name;
  const install = useApiMutation<Install, MarketplaceInstall>({
    request: (body) => ({
      method: 'POST',
      path: '/api/plugin/task/marketplace/install',
      body: { source, key: plugin.key, ...body },
      timeoutMs: 60_000,
    }),
    invalidates: pluginDependentPaths,
    onSuccess: ({ outcome, version: installed = version }) => {
      const page = `/plugins/${encodeURIComponent(plugin.key)}`;
      notifySuccess(t('market.installed', { name: plugin.name, version: installed }));
      navigate(outcome === 'waits_for_activation' ? withQuery(`${page}/activate`, { version: installed }) : page);
    },
  });
  function startInstall(request: Install): void {
    install.mutate(request, {
      // Passed here because callbacks of `mutate` do not run after the page is left: nobody is
      // asked on another page.
      onError: (error) => {
        if (
          !request.force &&
          request.share_models === undefined &&
          error instanceof ApiError &&
          error.code === 'PLUGIN_CONFLICT'
        )
          void resolveConflict(request, error);
      },
    });
  }
  /** Models may be shared; everything else that another plugin has keeps this one inactive. */
  async function resolveConflict(request: Install, error: ApiError): Promise<void> {
    const { message } = error;
    if (isModelConflict(error)) {
      const text = `${message} ${t('plugins.shareText')}`;
      const question = { title: t('plugins.share'), text, action: t('plugins.shareAction'), destructive: false };
      if (await confirm(question)) return startInstall({ ...request, share_models: true });
    }
    const question = {
      title: t('market.conflict'),
      text: `${message} ${t('market.conflictText')}`,
      action: t('market.installAnyway'),
    };
    if (await confirm(question)) startInstall({ ...request, force: true });
  }

  return (
    <Page
      heading={name}
      {...(description === '' ? {} : { intro: description })}
      icon={<PluginIcon name={name} icon={plugin.icon} path={plugin.icon_url} size={40} />}
      mark={<Mark name={name} pluginKey={plugin.key} version={version} />}
      back={<BackLink to="/marketplace">{t('nav.marketplace')}</BackLink>}
      actions={
        offered !== undefined && (
          <Button
            {...(isDifferent ? { variant: 'default' } : {})}
            disabled={offered.stored !== 'no' || text.data === undefined || text.data.errors.length > 0}
            loading={install.isPending}
            onClick={() => startInstall({ version, sha256: offered.sha256 })}
          >
            {t(offered.stored === 'same' ? 'market.alreadyStored' : 'market.install', { version })}
          </Button>
        )
      }
    >
      <OfferFacts {...{ plugin, source, trust }} />
      <TrustNotice source={source} trust={trust} />
      {plugin.replaces !== null && (
        <Alert color="gate" variant="light" title={t('plugins.move.offer', { from: plugin.replaces, to: plugin.key })}>
          <Text size="sm">{t('market.replacesText')}</Text>
        </Alert>
      )}
      {install.isError && <PluginErrors error={install.error} />}
      {text.data && isDifferent && <Differences text={text.data} />}
      {text.data && <ChangelogSection changelog={text.data.changelog} />}
      {text.data && text.data.permissions !== null && (
        <PermissionSection
          changes={text.data.permissions}
          isNew={text.data.current === null}
          unlisted={readUnlisted(text.data)}
        />
      )}
      {plugin.installed !== undefined && offered?.stored === 'no' && text.data?.errors.length === 0 && (
        <OfferPreview source={source} pluginKey={plugin.key} version={version} />
      )}
      <Section
        heading={t('plugins.tab.source')}
        intro={text.data?.current ? `${t('market.readOnceActive')} ${t('market.readChanges')}` : t('market.readFirst')}
        actions={
          <Select
            aria-label={t('plugins.version')}
            data={plugin.versions.map((each) => ({
              value: each.version,
              label: each.taken === false ? t('market.versionNotTaken', { version: each.version }) : each.version,
            }))}
            value={version}
            allowDeselect={false}
            onChange={(next) => next !== null && setParams({ version: next }, { replace: true })}
            w={150}
          />
        }
      >
        <QueryResult query={text}>{(read) => <OfferedSource text={read} />}</QueryResult>
      </Section>
    </Page>
  );
}

/** Whether it is installed, and where it comes from, in one line. */
function OfferFacts({ plugin, source, trust }: OfferProps) {
  const { t } = useTranslation();
  return (
    <div>
      <div className={classes.links}>
        <MarketState state={plugin.state} version={plugin.offered ?? plugin.latest} />
        {plugin.installed !== undefined && (
          <Text size="sm" component="span">
            {t('market.installedVersion')}{' '}
            <Link to={`/plugins/${encodeURIComponent(plugin.key)}`}>{plugin.installed.version}</Link>
          </Text>
        )}
        <Text size="sm" component="span">
          {t('market.source')}: {source}
        </Text>
        <TrustLabel trust={trust} />
        {plugin.website !== null && (
          <Text size="sm" component="span">
            <ExternalLink address={plugin.website} />
          </Text>
        )}
      </div>
      {plugin.state === 'diverged' && (
        <Text size="sm" c="dimmed" mt={4}>
          {t('market.divergedText')}
        </Text>
      )}
    </div>
  );
}

/** The texts for an index that lists something else, and for one that lists nothing. */
const differenceTexts: Readonly<Record<string, readonly [other: TextKey, none: TextKey]>> = {
  allowedHosts: ['market.differs.hosts', 'market.differs.noHosts'],
  baseUrl: ['market.differs.hosts', 'market.differs.noHosts'],
  models: ['market.differs.models', 'market.differs.noModels'],
  channelTypes: ['market.differs.channelTypes', 'market.differs.noChannelTypes'],
};

/** What the index says otherwise than the code: before anything is installed. */
function Differences({ text: { differences, difference_sentences: sentences } }: { text: MarketplaceSourceText }) {
  const { t } = useTranslation();
  const format = useFormat();
  const joinList = (list: readonly string[]): string => format.list(list) || t('market.differs.none');
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<IconAlertTriangle stroke={1.6} aria-hidden="true" />}
      title={t('market.differs')}
    >
      <List size="sm">
        {differences.map((difference, at) => {
          const { name = '', values, others } = sentences?.[at]?.params ?? {};
          const keys = differenceTexts[String(name)];
          const [listed, actual] = [readList(values), readList(others).map(readHost)];
          return (
            <List.Item key={difference}>
              {keys === undefined ? (
                <RuleText said={{ ...sentences?.[at], message: difference }} />
              ) : (
                t(keys[listed.length === 0 ? 1 : 0] as 'market.differs.hosts', {
                  listed: joinList(listed.map(readHost)),
                  actual: joinList(actual),
                })
              )}
            </List.Item>
          );
        })}
      </List>
    </Alert>
  );
}

/** What the code does or offers and the index does not list: hosts, models and channel types. */
function readUnlisted({ difference_sentences: sentences }: MarketplaceSourceText): ReadonlySet<string> {
  const names = (sentences ?? []).flatMap((said) => {
    const { values, others } = said?.params ?? {};
    const listed = readList(values).map(readHost);
    return readList(others)
      .map(readHost)
      .filter((name) => !listed.includes(name));
  });
  return new Set(names);
}

/** A list as the gateway wrote it into a sentence. */
function readList(json: unknown): string[] {
  try {
    const list: unknown = JSON.parse(String(json));
    return Array.isArray(list) ? list.map(String) : [];
  } catch {
    return [];
  }
}

function OfferedSource({ text }: { text: MarketplaceSourceText }) {
  const { t } = useTranslation();
  const { current, version, source, errors, needs } = text;
  return (
    <Stack gap="md">
      {needs.length > 0 && <NewerContract needs={needs} />}
      {errors.length > 0 && needs.length === 0 && (
        <Alert color="red" variant="light" role="alert" title={t('market.cannotInstall')}>
          <PluginErrorList errors={errors} />
        </Alert>
      )}
      {current === null || current.source === source ? (
        <CodeEditor label={t('plugins.tab.source')} value={source} language="javascript" height={640} />
      ) : (
        <CodeDiff
          before={{ label: t('plugins.diff.before', { version: current.version }), text: current.source }}
          after={{ label: t('plugins.diff.after', { version }), text: source }}
          language="javascript"
          height={640}
        />
      )}
      <Group>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {t('plugins.source.hash', { hash: text.source_hash })}
        </Text>
      </Group>
    </Stack>
  );
}

const path = '/api/plugin/task/marketplace/preview';

/** What an activation of an offered version would change, before it is installed. */
function OfferPreview({ source, pluginKey, version }: { source: string; pluginKey: string; version: string }) {
  const session = useSession();
  const body = { source, key: pluginKey, version };
  const preview = useQuery({
    queryKey: ['api', path, source, pluginKey, version],
    queryFn: () => session.send<PluginPreview>({ method: 'POST', path, body, timeoutMs: 60_000 }),
  });
  return (
    <QueryResult query={preview}>
      {(data) => (
        <>
          <PreviewChanges preview={data} />
          <PreviewReplay preview={data} />
        </>
      )}
    </QueryResult>
  );
}
