import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { affiliateQuery } from './affiliate-code.ts';

export function BackToSignIn() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  return (
    <Anchor
      component={Link}
      to={`/sign-in${affiliateQuery(params)}`}
      size="sm"
      underline="always"
      style={{ alignSelf: 'flex-start' }}
    >
      {t('account.toSignIn')}
    </Anchor>
  );
}
