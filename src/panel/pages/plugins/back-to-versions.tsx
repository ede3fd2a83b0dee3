import { Anchor } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';

export function BackToVersions({ pluginKey }: { pluginKey: string }) {
  const { t } = useTranslation();
  return (
    <Anchor
      component={Link}
      to={`/plugins/${encodeURIComponent(pluginKey)}?tab=versions`}
      size="sm"
      c="dimmed"
      style={{ display: 'inline-flex', gap: 6 }}
    >
      <IconArrowLeft size={18} stroke={1.6} aria-hidden="true" />
      {t('plugins.backToVersions', { key: pluginKey })}
    </Anchor>
  );
}
