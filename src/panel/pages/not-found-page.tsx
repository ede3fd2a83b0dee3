import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { roles, useRole } from '../session/roles.ts';
import { Page } from '../ui/page/page.tsx';
import { WelcomeLayout } from '../ui/page/welcome-layout.tsx';
import { AccountMessage } from './accounts/account-message.tsx';

/** Unknown address, for people who are not signed in. */
export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <WelcomeLayout>
      <AccountMessage
        title={t('missing.title')}
        heading={t('missing.heading')}
        text={t('missing.text')}
        next={{ to: '/sign-in', text: t('missing.signIn') }}
      />
    </WelcomeLayout>
  );
}

/**
 * Unknown address inside the app frame, or a page of others: which of the two is not said. The root
 * account opens every page.
 */
export function NotFoundInFrame() {
  const { t } = useTranslation();
  const isRoot = useRole() >= roles.root;
  return (
    <Page heading={t('missing.heading')} intro={t(isRoot ? 'missing.text' : 'missing.notForYou')} narrow>
      <div>
        <Button component={Link} to="/">
          {t('missing.home')}
        </Button>
      </div>
    </Page>
  );
}
