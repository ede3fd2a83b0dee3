import { Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { VendorAnswer as Answer, TaskDetail } from '../../../api/types.ts';
import { roles, useRole } from '../../../session/roles.ts';
import { useApiQuery } from '../../../session/use-api.ts';
import { Collapsible } from '../../../ui/display/collapsible.tsx';
import { CopyField } from '../../../ui/display/copy-field.tsx';
import { JsonView } from '../../../ui/display/json-view.tsx';
import { QueryResult } from '../../../ui/display/query-result.tsx';
import { FoldedSection } from '../../../ui/page/section.tsx';

/** The task as JSON, for developers of clients. */
export function TaskRaw({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const [isAnswerWanted, setAnswerWanted] = useState(false);
  const { request, ...rest } = task;
  return (
    <FoldedSection heading={t('task.raw')} intro={t(request === null ? 'task.raw.introOther' : 'task.raw.intro')}>
      <Stack gap="sm">
        {request !== null && (
          <Collapsible label={t('task.raw.request')}>
            <JsonView value={request.body} label={t('task.raw.request')} />
          </Collapsible>
        )}
        <Collapsible label={t('task.raw.task')}>
          <JsonView value={rest} label={t('task.raw.task')} />
        </Collapsible>
        {isAdmin && task.queue === undefined && (
          <Collapsible label={t('task.answer.show')} onOpen={() => setAnswerWanted(true)}>
            {isAnswerWanted && <VendorAnswer taskId={task.id} />}
          </Collapsible>
        )}
      </Stack>
    </FoldedSection>
  );
}

/**
 * What the vendor answered last, for administrators. It is read on demand: it may be large, and
 * reading another user's leaves an audit row.
 */
function VendorAnswer({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const answer = useApiQuery<Answer>(`/api/task/${encodeURIComponent(taskId)}/answer`, { keepPrevious: false });
  return (
    <QueryResult query={answer}>
      {({ answer: text, is_cut }) =>
        text === null ? (
          <Text size="sm" c="dimmed">
            {t('task.answer.none')}
          </Text>
        ) : (
          <Stack gap="xs">
            <Text size="sm">{t(is_cut ? 'task.answer.cut' : 'task.answer')}</Text>
            <CopyField text={text} />
          </Stack>
        )
      }
    </QueryResult>
  );
}
