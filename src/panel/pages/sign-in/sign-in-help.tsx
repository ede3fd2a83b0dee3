import { Anchor, Collapse, Stack, Text, UnstyledButton } from '@mantine/core';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { affiliateQuery } from '../accounts/link-parameters.ts';
import classes from './sign-in-help.module.css';

/** Help for people who cannot sign in: sign-up, a mailed link, and recovery for the owner. */
export function SignInHelp() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const { data: status } = useGatewayStatus();
  return (
    <Stack gap={10}>
      {status?.password_register_enabled && (
        <Text size="sm">
          {t('signIn.noAccount')}{' '}
          <Anchor component={Link} to={`/sign-up${affiliateQuery(params)}`} underline="always">
            {t('signIn.toSignUp')}
          </Anchor>
        </Text>
      )}
      {status?.password_reset && (
        <Anchor component={Link} to="/forgot-password" size="sm" underline="always" style={{ alignSelf: 'flex-start' }}>
          {t('signIn.forgot')}
        </Anchor>
      )}
      <OwnerRecoveryHint />
    </Stack>
  );
}

/** For an owner who is locked out: the command to run on the gateway's machine. */
function OwnerRecoveryHint() {
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
