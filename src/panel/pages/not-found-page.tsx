import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { FullPageMessage } from '../ui/page/full-page.tsx';
import { Page } from '../ui/page/page.tsx';

/** Unknown address, for people who are not signed in. */
export function NotFoundPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  return (
    <FullPageMessage
      heading={t('missing.heading')}
      text={t('missing.text')}
      action={t('missing.signIn')}
      onAction={() => void navigate('/sign-in')}
    />
  );
}

/** Unknown address inside the app frame, or a page of others: which of the two is not said. */
export function NotFoundInFrame() {
  const { t } = useTranslation();
  return (
    <Page heading={t('missing.heading')} intro={t('missing.notForYou')} narrow>
      <div>
        <Button component={Link} to="/">
          {t('missing.home')}
        </Button>
      </div>
    </Page>
  );
}
