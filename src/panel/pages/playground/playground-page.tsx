import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import { useRole } from '../../session/roles.ts';
import { roles } from '../../shell/navigation-sections.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { Answer } from '../../ui/display/query-result.tsx';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Playground } from './playground.tsx';

/**
 * `/playground`: `?plugin=` and `?model=` choose a model, `?from=` takes over the request of a
 * task, `?task=` is the task being watched.
 */
export function PlaygroundPage() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const from = params.get('from') ?? '';
  const models = useApi<CallableModel[]>('/api/model');
  const source = useApi<TaskDetail>(`/api/task/${encodeURIComponent(from)}`, { enabled: from !== '', keep: false });
  // Read once more after a failure, it keeps nobody from what he has begun without it.
  const isSourceReady = from === '' || source.isFetched;
  return (
    <Page heading={t('play.heading')} intro={t('play.intro')}>
      {source.isError && <FailureNotice error={source.error} meanings={{ TASK_NOT_FOUND: 'play.fromFailed' }} />}
      <Answer query={models}>
        {(offers) => {
          if (offers.length === 0) return <NoModels />;
          return (
            // A task that is read late, or another one, is begun with anew.
            isSourceReady && (
              <Playground key={source.data === undefined ? '' : from} offers={offers} source={source.data} />
            )
          );
        }}
      </Answer>
    </Page>
  );
}

function NoModels() {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  return (
    <EmptyState
      heading={t('play.none')}
      text={t('play.noneText')}
      action={
        isAdmin ? (
          <Button component={Link} to="/channels/new">
            {t('play.noneAction')}
          </Button>
        ) : undefined
      }
    />
  );
}
