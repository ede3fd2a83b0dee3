import { Alert, Button, Group, List, Select, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import type { MarketInstalled, MarketOffer, MarketPlugin, MarketSourceText } from '../../api/types.ts';
import { useApi, useChange, withQuery } from '../../api/use-api.ts';
import { CodeDiff, CodeEditor } from '../../ui/code/code-editor.tsx';
import { localise } from '../../i18n/localise.ts';
import { Answer } from '../../ui/display/query-result.tsx';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { notifyDone } from '../../ui/display/notify.ts';
import { BackLink } from '../../ui/page/back-link.tsx';
import { MissingThing } from '../../ui/page/resource-not-found.tsx';
import { OutsideLink } from '../../ui/page/external-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useNavigateHere } from '../../ui/page/use-scoped-navigate.ts';
import { listHosts } from '../plugins/plugin-hosts.ts';
import { Codes } from '../plugins/overview-tab.tsx';
import { FaultList, PluginFaults } from '../plugins/plugin-errors.tsx';
import { staleWithPlugins } from '../plugins/plugin-paths.ts';
import classes from '../plugins/plugins.module.css';
import { MarketState } from './market-state.tsx';

type Install = { version: string; sha256: string; force: boolean };

/**
 * One offered plugin: what it is, what it may reach, its text beside the one that serves, and its
 * installation.
 */
export function OfferPage() {
  const { t, i18n } = useTranslation();
  const { source = '', key = '' } = useParams();
  const offers = useApi<MarketOffer[]>('/api/plugin/task/marketplace');
  const plugin = offers.data?.find((offer) => offer.source.name === source)?.plugins.find((each) => each.key === key);
  const description = localise(plugin?.description, i18n.language);
  return (
    <Page
      heading={plugin?.name ?? key}
      {...(description === '' ? {} : { intro: description })}
      back={<BackLink to="/marketplace">{t('nav.marketplace')}</BackLink>}
    >
      <Answer query={offers}>
        {() =>
          plugin === undefined ? (
            <MissingThing
              heading={t('market.gone')}
              text={t('market.goneText', { key, source })}
              list={{ to: '/marketplace', name: 'nav.marketplace' }}
            />
          ) : (
            <Offer plugin={plugin} source={source} />
          )
        }
      </Answer>
    </Page>
  );
}

function Offer({ plugin, source }: { plugin: MarketPlugin; source: string }) {
  const { t } = useTranslation();
  const navigate = useNavigateHere();
  const confirm = useConfirm();
  const [params, setParams] = useSearchParams();
  const version = params.get('version') ?? plugin.latest;
  const offered = plugin.versions.find((each) => each.version === version);
  const text = useApi<MarketSourceText>(
    withQuery('/api/plugin/task/marketplace/source', { source, key: plugin.key, version }),
    { keep: false },
  );
  const install = useChange<Install, MarketInstalled>({
    request: (body) => ({
      method: 'POST',
      path: '/api/plugin/task/marketplace/install',
      body: { source, key: plugin.key, ...body },
      patienceMs: 60_000,
    }),
    stale: staleWithPlugins,
    onSuccess: ({ outcome, version: installed = version }) => {
      const page = `/plugins/${encodeURIComponent(plugin.key)}`;
      notifyDone(t('market.installed', { name: plugin.name, version: installed }));
      navigate(outcome === 'waits_for_activation' ? withQuery(`${page}/activate`, { version: installed }) : page);
    },
  });
  function send(wish: Install): void {
    install.mutate(wish, {
      // Here, since this is not called once the page is left: nobody is asked about it on another
      // one.
      onError: (error) => {
        if (!wish.force && error instanceof ApiError && error.code === 'PLUGIN_CONFLICT') void askAnyway(wish, error);
      },
    });
  }
  async function askAnyway(wish: Install, { message }: ApiError): Promise<void> {
    const question = {
      title: t('market.conflict'),
      text: `${message} ${t('market.conflictText')}`,
      action: t('market.installAnyway'),
    };
    if (await confirm(question)) send({ ...wish, force: true });
  }

  return (
    <>
      {install.isError && <PluginFaults error={install.error} />}
      <Section
        heading={t('plugins.about')}
        actions={
          offered !== undefined && (
            <Button
              disabled={offered.stored !== 'no' || text.data === undefined || text.data.errors.length > 0}
              loading={install.isPending}
              onClick={() => send({ version, sha256: offered.sha256, force: false })}
            >
              {t(offered.stored === 'same' ? 'market.alreadyStored' : 'market.install', { version })}
            </Button>
          )
        }
      >
        <dl className={classes.facts}>
          <dt>{t('plugins.state')}</dt>
          <dd>
            <MarketState state={plugin.state} />
            {plugin.state === 'diverged' && (
              <Text size="sm" c="dimmed" mt={4}>
                {t('market.divergedText')}
              </Text>
            )}
          </dd>
          {plugin.installed !== undefined && (
            <>
              <dt>{t('market.installedVersion')}</dt>
              <dd>
                <Link to={`/plugins/${encodeURIComponent(plugin.key)}`}>{plugin.installed.version}</Link>
              </dd>
            </>
          )}
          {plugin.website !== null && (
            <>
              <dt>{t('plugins.website')}</dt>
              <dd>
                <OutsideLink address={plugin.website} />
              </dd>
            </>
          )}
          <dt>{t('plugins.models')}</dt>
          <dd>
            <Codes values={plugin.models} />
          </dd>
          <dt>{t('plugins.hosts')}</dt>
          <dd>
            <Codes values={listHosts({ base: offered?.base_url, allowed: offered?.allowed_hosts })} />
          </dd>
        </dl>
      </Section>
      <Section
        heading={t('plugins.tab.source')}
        intro={t('market.readFirst')}
        actions={
          <Select
            aria-label={t('plugins.version')}
            data={plugin.versions.map((each) => each.version)}
            value={version}
            allowDeselect={false}
            onChange={(next) => next !== null && setParams({ version: next }, { replace: true })}
            w={150}
          />
        }
      >
        <Answer query={text}>{(read) => <OfferedText text={read} />}</Answer>
      </Section>
    </>
  );
}

function OfferedText({ text }: { text: MarketSourceText }) {
  const { t } = useTranslation();
  const { current, version, source, errors, differences } = text;
  return (
    <Stack gap="md">
      {errors.length > 0 && (
        <Alert color="red" variant="light" role="alert" title={t('market.cannotInstall')}>
          <FaultList faults={errors} />
        </Alert>
      )}
      {differences.length > 0 && (
        <Alert
          color="yellow"
          variant="light"
          icon={<IconAlertTriangle stroke={1.6} aria-hidden="true" />}
          title={t('market.differs')}
        >
          <List size="sm">
            {differences.map((difference) => (
              <List.Item key={difference}>{difference}</List.Item>
            ))}
          </List>
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
