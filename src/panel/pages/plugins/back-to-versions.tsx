import { useTranslation } from 'react-i18next';
import { BackLink } from '../../ui/page/back-link.tsx';

export function BackToVersions({ pluginKey, name }: { pluginKey: string; name: string }) {
  const { t } = useTranslation();
  return (
    <BackLink to={`/plugins/${encodeURIComponent(pluginKey)}?tab=versions`}>
      {t('plugins.backToVersions', { key: name })}
    </BackLink>
  );
}
