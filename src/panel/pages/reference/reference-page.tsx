import { useTranslation } from 'react-i18next';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import classes from './reference-page.module.css';

/** `/reference`: the API reference, which is a page of its own, inside the panel's frame. */
export function ReferencePage() {
  const { t } = useTranslation();
  return (
    <div className={classes.page}>
      <PageHeading title={t('nav.reference')} heading={t('nav.reference')} focus />
      <iframe className={classes.reference} src="/api/docs" title={t('nav.reference')} />
    </div>
  );
}
