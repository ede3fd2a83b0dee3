import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { JsonView } from '../../ui/display/json-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { VendorAnswer } from './vendor-answer.tsx';

/** The task as JSON, for developers of clients. */
export function TaskRaw({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const { request, ...rest } = task;
  return (
    <Section heading={t('task.raw')} intro={t(request === null ? 'task.raw.introOther' : 'task.raw.intro')}>
      <Stack gap="sm">
        {request !== null && (
          <Collapsible label={t('task.raw.request')}>
            <JsonView value={request.body} label={t('task.raw.request')} />
          </Collapsible>
        )}
        <Collapsible label={t('task.raw.task')}>
          <JsonView value={rest} label={t('task.raw.task')} />
        </Collapsible>
        {isAdmin && <VendorAnswer taskId={task.id} />}
      </Stack>
    </Section>
  );
}
