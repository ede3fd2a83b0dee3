import { Collapse, Stack, Text, UnstyledButton } from '@mantine/core';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../ui/display/copy-field.tsx';
import classes from './owner-recovery-hint.module.css';

/** For an owner who is locked out: the command to run on the gateway's machine. */
export function OwnerRecoveryHint() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <div>
      <UnstyledButton
        className={classes.question}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        {t('signIn.lost')}
      </UnstyledButton>
      <Collapse expanded={open} id={id}>
        <Stack gap={10} pt={12}>
          <Text size="sm" c="dimmed">
            {t('signIn.lostHelp')}
          </Text>
          <CopyField text="taskgate admin reset-password --username root --password-stdin" />
        </Stack>
      </Collapse>
    </div>
  );
}
