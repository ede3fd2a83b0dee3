import { Alert, Button, Group, Modal, Radio, Select, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CaseFile, CaseLink } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useFormat } from '../../ui/display/use-format.ts';

type Audience = CaseFile['audience'];
const lives = [1, 7, 30] as const;

/** Makes a signed link to a case file: for whom, and for how long. */
export function ShareCase({ file, isOpen, onClose }: { file: CaseFile; isOpen: boolean; onClose(): void }) {
  const { t, i18n } = useTranslation();
  const inDays = new Intl.NumberFormat(i18n.language, { style: 'unit', unit: 'day', unitDisplay: 'long' });
  const format = useFormat();
  const isAdmin = useRole() >= roles.admin;
  const isForOperators = file.kind === 'channel';
  const [audience, setAudience] = useState<Audience>(isForOperators ? 'operator' : 'user');
  const [days, setDays] = useState('7');
  const path = `/api/case/${file.kind}/${encodeURIComponent(file.id)}/link`;
  const share = useApiMutation<void, CaseLink>({
    request: () => ({ method: 'POST', path, body: { audience, days: Number(days) } }),
  });
  const link =
    share.data &&
    `${window.location.origin}/shared-case/${file.kind}/${encodeURIComponent(file.id)}#${share.data.access}`;
  return (
    <Modal
      opened={isOpen}
      onClose={() => {
        share.reset();
        onClose();
      }}
      size="lg"
      title={t('case.share')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {link === undefined ? (
        <Stack gap="md">
          {isAdmin && !isForOperators && (
            <Radio.Group
              label={t('case.for')}
              value={audience}
              onChange={(value) => setAudience(value === 'operator' ? value : 'user')}
            >
              <Stack gap="xs" mt={8}>
                <Radio value="user" label={t('case.for.user')} description={t('case.for.userText')} />
                <Radio value="operator" label={t('case.for.operator')} description={t('case.for.operatorText')} />
              </Stack>
            </Radio.Group>
          )}
          <Select
            label={t('case.life')}
            value={days}
            onChange={(value) => setDays(value ?? '7')}
            allowDeselect={false}
            data={lives.map((life) => ({ value: String(life), label: inDays.format(life) }))}
          />
          <Alert color="gray" variant="light">
            {t('case.shareText')}
          </Alert>
          {share.isError && <ErrorNotice error={share.error} />}
          <Group justify="flex-end">
            <Button loading={share.isPending} onClick={() => share.mutate()}>
              {t('case.makeLink')}
            </Button>
          </Group>
        </Stack>
      ) : (
        <Stack gap="sm">
          <CopyField text={link} />
          <p style={{ margin: 0 }}>{t('case.until', { when: format.time(share.data?.expires_at ?? 0) })}</p>
        </Stack>
      )}
    </Modal>
  );
}
