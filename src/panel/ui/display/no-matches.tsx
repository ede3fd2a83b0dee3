import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { EmptyState } from './empty-state.tsx';

/** Shown instead of a list in which search and filters leave nothing. */
export function NoMatches({ text, onClear }: { text: string; onClear(): void }) {
  const { t } = useTranslation();
  return (
    <EmptyState
      heading={t('list.noMatch')}
      text={text}
      action={
        <Button variant="default" onClick={onClear}>
          {t('list.clear')}
        </Button>
      }
    />
  );
}
