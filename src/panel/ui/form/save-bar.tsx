import { Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ErrorNotice } from '../display/error-notice.tsx';
import classes from './save-bar.module.css';

type SaveBarProps = {
  /** How many fields differ from what is stored. Without any there is no bar. */
  count: number;
  isPending: boolean;
  /** Something must be confirmed before it can be saved. */
  isBlocked?: boolean;
  /** Why the last attempt failed, where no field shows it. */
  error?: Error | null;
  onDiscard(): void;
};

/** Saves or discards the changes of a long form, from anywhere in it. The form is around it. */
export function SaveBar({ count, isPending, isBlocked = false, error = null, onDiscard }: SaveBarProps) {
  const { t } = useTranslation();
  return (
    count > 0 && (
      <div className={classes.bar}>
        {error !== null && (
          <div className={classes.error}>
            <ErrorNotice error={error} />
          </div>
        )}
        <Text size="sm" aria-live="polite">
          {t('confirm.dirty', { count })}
        </Text>
        <Group gap="sm">
          <Button variant="default" disabled={isPending} onClick={onDiscard}>
            {t('confirm.discard')}
          </Button>
          <Button type="submit" loading={isPending} disabled={isBlocked}>
            {t('confirm.save')}
          </Button>
        </Group>
      </div>
    )
  );
}
