import { Anchor, Button, Group, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ApiKey, ApiKeyPage } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { budgetPeriods } from '../../ui/form/spending-limit.tsx';
import { useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { KeyMenu } from './key-menu.tsx';
import { KeyLastUse, KeyStatus, useLastUseFacts } from './key-status.tsx';
import classes from './keys-page.module.css';
import { type KeyChanges, useKeyChanges } from './use-key-changes.ts';

/** The user's own API keys, with what each may still spend. */
export function KeysPage() {
  const { t } = useTranslation();
  const { page, setPage } = useFilters([]);
  const query = useApiQuery<ApiKeyPage>(withQuery('/api/token', { page }));
  const changes = useKeyChanges();
  const columns = useColumns(changes, query.data?.items ?? []);
  const create = (
    <Button component={Link} to="/keys/new" leftSection={<IconPlus size={18} stroke={1.6} aria-hidden="true" />}>
      {t('keys.new')}
    </Button>
  );
  return (
    <Page heading={t('nav.keys')} intro={t('keys.intro')} {...(query.data?.total === 0 ? {} : { actions: create })}>
      {changes.error !== null && <ErrorNotice error={changes.error} />}
      <div>
        <DataTable
          label={t('nav.keys')}
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          onPage={setPage}
          brief={(key) => <KeyBrief apiKey={key} changes={changes} />}
          empty={<EmptyState heading={t('keys.empty.heading')} text={t('keys.empty.text')} action={create} />}
        />
      </div>
    </Page>
  );
}

function useColumns(changes: KeyChanges, keys: readonly ApiKey[]): readonly Column<ApiKey>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const left = format.moneyLike(keys.flatMap((key) => (key.unlimited_quota ? [] : key.quota)));
  const spent = format.moneyLike(keys.map((key) => key.used_quota));
  const describeRestrictions = useRestrictions();
  return [
    {
      key: 'name',
      heading: t('keys.name'),
      render: (key) => (
        <div className={classes.name}>
          <Anchor component={Link} to={`/keys/${key.id}`} fw={600} c="var(--mantine-color-text)">
            {key.name}
          </Anchor>
          <span className={classes.prefix}>{key.prefix}…</span>
        </div>
      ),
    },
    { key: 'status', heading: t('keys.status'), render: (key) => <KeyStatus status={key.status} /> },
    {
      key: 'left',
      heading: t('keys.left'),
      numeric: true,
      render: (key) => (key.unlimited_quota ? t('keys.unlimited') : left(key.quota)),
    },
    { key: 'spent', heading: t('keys.spent'), numeric: true, render: (key) => spent(key.used_quota) },
    { key: 'limits', heading: t('keys.limited'), render: (key) => <Restrictions texts={describeRestrictions(key)} /> },
    {
      key: 'expires',
      heading: t('keys.expiry'),
      minor: true,
      render: (key) => (
        <span className={classes.time}>{key.expires_at === 0 ? t('keys.never') : format.date(key.expires_at)}</span>
      ),
    },
    {
      key: 'used',
      heading: t('keys.lastUsed'),
      render: (key) => <KeyLastUse apiKey={key} />,
    },
    {
      key: 'actions',
      heading: t('app.more'),
      actions: true,
      render: (key) => (
        <Group gap={4} wrap="nowrap" justify="flex-end">
          <Button
            className={classes.rotate ?? ''}
            component={Link}
            to={`/keys/${key.id}/rotate`}
            variant="subtle"
            size="xs"
            aria-label={`${t('keys.rotate')}: ${key.name}`}
          >
            {t('keys.rotate')}
          </Button>
          <KeyMenu apiKey={key} changes={changes} isOwn />
        </Group>
      ),
    },
  ];
}

function KeyBrief({ apiKey, changes }: { apiKey: ApiKey; changes: KeyChanges }) {
  const { t } = useTranslation();
  const format = useFormat();
  const lastUseFacts = useLastUseFacts();
  const describeRestrictions = useRestrictions();
  const details = [`${apiKey.prefix}…`, ...describeRestrictions(apiKey), ...lastUseFacts(apiKey).slice(0, 1)];
  return (
    <RowBrief
      name={apiKey.name}
      to={`/keys/${apiKey.id}`}
      figure={t('keys.spentSoFar', { money: format.money(apiKey.used_quota) })}
      state={<KeyStatus status={apiKey.status} />}
      facts={[apiKey.unlimited_quota ? t('keys.unlimited') : t('keys.leftOf', { money: format.money(apiKey.quota) })]}
      detail={details}
      actions={<KeyMenu apiKey={apiKey} changes={changes} isOwn />}
    />
  );
}

/** Up to this many models are named; of more, only the number is shown. */
const namedModels = 2;

/** Says what a key is restricted to; an empty list if it may do whatever its account may. */
function useRestrictions(): (key: ApiKey) => string[] {
  const { t } = useTranslation();
  const format = useFormat();
  return ({ models, allow_ips: ips, group, budget, requests_per_minute: perMinute, max_running: running }) => {
    const period = budgetPeriods.find(({ value }) => value === budget?.period);
    return [
      ...(models.length > namedModels ? [t('keys.modelCount', { count: models.length })] : models),
      ...(ips.length > 1 ? [t('keys.ipCount', { count: ips.length })] : ips),
      ...(group !== null ? [t('keys.groupIs', { group })] : []),
      ...(budget && period ? [`${t(period.label)}: ${format.money(budget.amount)}`] : []),
      ...(perMinute === null ? [] : [`${t('limit.perMinute')}: ${format.number(perMinute)}`]),
      ...(running === null ? [] : [`${t('limit.running')}: ${format.number(running)}`]),
    ];
  };
}

function Restrictions({ texts }: { texts: readonly string[] }) {
  const { t } = useTranslation();
  return texts.length === 0 ? (
    <Text span size="sm" c="dimmed">
      {t('keys.noLimits')}
    </Text>
  ) : (
    texts.map((text) => <div key={text}>{text}</div>)
  );
}
