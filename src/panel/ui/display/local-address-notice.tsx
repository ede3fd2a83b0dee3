import { Alert, Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { roles, useRole } from '../../session/roles.ts';

/** Says of an address on this machine that nobody can use it elsewhere. */
export function LocalAddressNotice({ url }: { url: string }) {
  const { t } = useTranslation();
  const isRoot = useRole() >= roles.root;
  if (!/^https?:\/\/(localhost|127\.|\[::1\])/i.test(url)) return null;
  return (
    <Alert role="note" color="yellow" variant="light" mb={8} p="xs">
      <Text size="sm">
        {t('address.local')}
        {isRoot && (
          <>
            {' '}
            <Anchor component={Link} to="/settings/gateway#option-ServerAddress" inherit underline="always">
              {t('address.set')}
            </Anchor>
          </>
        )}
      </Text>
    </Alert>
  );
}
