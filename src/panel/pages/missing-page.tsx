import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { FullPageMessage } from '../ui/full-page.tsx';

export function MissingPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  return (
    <FullPageMessage
      heading={t('missing.heading')}
      text={t('missing.text')}
      action={t('missing.home')}
      onAction={() => void navigate('/')}
    />
  );
}
