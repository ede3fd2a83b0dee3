import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import type { CallableModel, TaskDetail } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { roles, useRole } from '../../session/roles.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Playground } from './playground.tsx';

/**
 * `/playground`: `?plugin=` and `?model=` select a model, `?from=` copies the request of a task,
 * `?task=` is the task being watched.
 */
export function PlaygroundPage() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const from = params.get('from') ?? '';
  const models = useApiQuery<CallableModel[]>('/api/model');
  const source = useApiQuery<TaskDetail>(`/api/task/${encodeURIComponent(from)}`, {
    enabled: from !== '',
    keepPrevious: false,
  });
  // After a first failed read the playground is usable; a later read must not replace what was
  // typed.
  const isSourceLoaded = from === '' || source.isFetched;
  return (
    <Page heading={t('play.heading')} intro={t('play.intro')}>
      {source.isError && <ErrorNotice error={source.error} codeTexts={{ TASK_NOT_FOUND: 'play.fromFailed' }} />}
      <QueryResult query={models}>
        {(offers) => {
          if (offers.length === 0) return <NoModels />;
          return (
            // The key remounts the form when the task arrives late or changes.
            isSourceLoaded && (
              <Playground key={source.data === undefined ? '' : from} offers={offers} source={source.data} />
            )
          );
        }}
      </QueryResult>
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
