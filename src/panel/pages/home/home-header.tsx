import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../session/session-context.tsx';
import { BrandMark } from '../../ui/brand-mark.tsx';
import { PageControls } from '../../ui/page-controls.tsx';
import classes from './home-page.module.css';

export function HomeHeader() {
  const { t } = useTranslation();
  const session = useSession();
  const signOut = useMutation({ mutationFn: () => session.signOut() });
  return (
    <>
      <header className={classes.header}>
        <BrandMark />
        <div className={classes.actions}>
          <PageControls />
          <Button variant="default" loading={signOut.isPending} onClick={() => signOut.mutate()}>
            {t('home.signOut')}
          </Button>
        </div>
      </header>
      {signOut.isError && (
        <p className={classes.headerError} role="alert">
          {t('home.signOutFailed')}
        </p>
      )}
    </>
  );
}
