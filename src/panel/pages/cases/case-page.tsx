import { Alert, Button, Group, Modal, Radio, Select, Stack, Text } from '@mantine/core';
import { IconLink } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation, useParams, useSearchParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import type { CaseFile, CaseLink, SharedCase } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery, withQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PublicFrame } from '../../ui/page/public-frame.tsx';
import { CaseStatus, CaseView } from './case-view.tsx';

const backTo = { task: '/tasks', user: '/users', channel: '/channels' } as const;

/** `/case/:kind/:id`: what explains a task, an account or a channel to those who may see it. */
export function CasePage() {
  const { t } = useTranslation();
  const { kind = '', id = '' } = useParams();
  const audience = useSearchParams()[0].get('for');
  const path = `/api/case/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
  const found = useApiQuery<CaseFile>(withQuery(path, { audience }), { keepPrevious: false });
  const list = kind === 'user' || kind === 'channel' ? kind : 'task';
  const [isSharing, setSharing] = useState(false);
  return (
    <Page
      heading={nameCase(found.data, t)}
      mark={found.data && <CaseStatus {...found.data} />}
      intro={found.data === undefined ? t('case.intro') : `${describeKind(found.data, t)} · ${t('case.intro')}`}
      back={<BackLink to={`${backTo[list]}/${encodeURIComponent(id)}`}>{t(`case.back.${list}`)}</BackLink>}
      actions={
        found.data !== undefined && (
          <Button
            variant="default"
            leftSection={<IconLink size={17} stroke={1.6} aria-hidden="true" />}
            onClick={() => setSharing(true)}
          >
            {t('case.share')}
          </Button>
        )
      }
    >
      <QueryResult query={found} notFound={<EmptyState heading={t('case.missing')} text={t('case.missingText')} />}>
        {(file) => (
          <>
            <CaseView file={file} hasLinks />
            <ShareCase file={file} isOpen={isSharing} onClose={() => setSharing(false)} />
          </>
        )}
      </QueryResult>
    </Page>
  );
}

/**
 * `/shared-case/:kind/:id#access`: the same for anyone who has the link. What opens it stands
 * behind `#`, which browsers do not send, so that no log of addresses has it.
 */
export function SharedCasePage() {
  const { t } = useTranslation();
  const format = useFormat();
  const session = useSession();
  const { kind = '', id = '' } = useParams();
  const access = useLocation().hash.slice(1);
  const found = useQuery({
    queryKey: ['shared-case', kind, id, access],
    queryFn: () => session.send<SharedCase>({ method: 'POST', path: '/api/case/shared', body: { kind, id, access } }),
    retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status >= 400),
  });
  const isRefused = found.error instanceof ApiError && [400, 404, 422].includes(found.error.status);
  return (
    <PublicFrame>
      <Page heading={nameCase(found.data, t)} mark={found.data && <CaseStatus {...found.data} />}>
        {isRefused ? (
          <EmptyState
            heading={t('case.ended')}
            text={t('case.endedText')}
            action={
              <Button component={Link} to={`/case/${kind}/${encodeURIComponent(id)}`} variant="default">
                {t('case.openSignedIn')}
              </Button>
            }
          />
        ) : (
          <QueryResult query={found}>
            {(file) => (
              <>
                <Text size="sm" c="dimmed">
                  {describeKind(file, t)} · {t('case.until', { when: format.time(file.expires_at) })}
                </Text>
                <CaseView file={file} />
              </>
            )}
          </QueryResult>
        )}
      </Page>
    </PublicFrame>
  );
}

type Named = Pick<CaseFile, 'kind' | 'title' | 'facts'>;

/** "Case file: Demo studio"; a task is named by its model, and by its user where that is known. */
function nameCase(file: Named | undefined, t: TFunction): string {
  if (file === undefined) return t('case.title');
  const { kind, title: name, facts } = file;
  if (kind !== 'task') return t('case.of', { name });
  const user = facts.find((fact) => fact.name === 'user')?.value;
  return user === undefined ? t('case.ofTask', { name }) : t('case.ofTaskBy', { name, user });
}

const kindTexts = { task: 'usage.task', user: 'tasks.column.user', channel: 'tasks.channel' } as const;

const describeKind = ({ kind }: Named, t: TFunction): string => t(kindTexts[kind]);

type Audience = CaseFile['audience'];
const lives = [1, 7, 30] as const;

/** Makes a signed link to a case file: for whom, and for how long. */
function ShareCase({ file, isOpen, onClose }: { file: CaseFile; isOpen: boolean; onClose(): void }) {
  const { t, i18n } = useTranslation();
  const inDays = new Intl.NumberFormat(i18n.language, { style: 'unit', unit: 'day', unitDisplay: 'long' });
  const format = useFormat();
  const isAdmin = useRole() >= roles.admin;
  const isForOperators = file.kind === 'channel';
  const [audience, setAudience] = useState<Audience>(isForOperators ? 'operator' : 'user');
  const [days, setDays] = useState('7');
  const path = `/api/case/${file.kind}/${encodeURIComponent(file.id)}/link`;
  const share = useApiMutation<void, CaseLink>({
    request: () => ({ method: 'POST', path, body: { audience, days: Number(days) } }),
  });
  const link =
    share.data &&
    `${window.location.origin}/shared-case/${file.kind}/${encodeURIComponent(file.id)}#${share.data.access}`;
  return (
    <Modal
      opened={isOpen}
      onClose={() => {
        share.reset();
        onClose();
      }}
      size="lg"
      title={t('case.share')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {link === undefined ? (
        <Stack gap="md">
          {isAdmin && !isForOperators && (
            <Radio.Group
              label={t('case.for')}
              value={audience}
              onChange={(value) => setAudience(value === 'operator' ? value : 'user')}
            >
              <Stack gap="xs" mt={8}>
                <Radio value="user" label={t('case.for.user')} description={t('case.for.userText')} />
                <Radio value="operator" label={t('case.for.operator')} description={t('case.for.operatorText')} />
              </Stack>
            </Radio.Group>
          )}
          <Select
            label={t('case.life')}
            value={days}
            onChange={(value) => setDays(value ?? '7')}
            allowDeselect={false}
            data={lives.map((life) => ({ value: String(life), label: inDays.format(life) }))}
          />
          <Alert color="gray" variant="light">
            {t('case.shareText')}
          </Alert>
          {share.isError && <ErrorNotice error={share.error} />}
          <Group justify="flex-end">
            <Button loading={share.isPending} onClick={() => share.mutate()}>
              {t('case.makeLink')}
            </Button>
          </Group>
        </Stack>
      ) : (
        <Stack gap="sm">
          <CopyField text={link} />
          <p style={{ margin: 0 }}>{t('case.until', { when: format.time(share.data?.expires_at ?? 0) })}</p>
        </Stack>
      )}
    </Modal>
  );
}
