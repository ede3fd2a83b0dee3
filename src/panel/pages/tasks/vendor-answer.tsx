import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { VendorAnswer as Answer } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';

/**
 * What the vendor answered last, for administrators. It is read on demand: it may be large, and
 * reading another user's leaves an audit row.
 */
export function VendorAnswer({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const [isWanted, setWanted] = useState(false);
  const answer = useApiQuery<Answer>(`/api/task/${encodeURIComponent(taskId)}/answer`, {
    enabled: isWanted,
    keepPrevious: false,
  });
  if (!isWanted) {
    return (
      <Group>
        <Button variant="default" size="xs" onClick={() => setWanted(true)}>
          {t('task.answer.show')}
        </Button>
      </Group>
    );
  }
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
