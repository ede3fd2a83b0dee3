import { Anchor, Button, Group, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BalanceAlert, BalanceAlertFields, SavedBalanceAlert } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { OneTimeSecret } from '../../ui/display/one-time-secret.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';
import { WebhookInput } from '../keys/webhook-input.tsx';
import { AlertSecret } from './alert-secret.tsx';
import { type AlertValues, toAlertFields, toAlertValues, validateAlert } from './alert-values.ts';
import { BalanceState } from './balance-state.tsx';

const path = '/api/user/self/balance-alert';

/** When the user is warned of a low balance, and how. */
export function LowBalance({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  return (
    <SettingsBlock heading={t('notifications.balance')} intro={t('notifications.balanceIntro')}>
      <BalanceState alert={alert} />
      {alert.is_offered ? (
        <LowBalanceForm alert={alert} />
      ) : (
        <Text size="sm" c="dimmed" lh={1.6}>
          {t('notifications.notOffered')}
        </Text>
      )}
    </SettingsBlock>
  );
}

function LowBalanceForm({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [secret, setSecret] = useState<string | null>(null);
  const save = useApiMutation<BalanceAlertFields, SavedBalanceAlert>({
    request: (body) => ({ method: 'PUT', path, body }),
    invalidates: [path],
    // The secret is shown only once, so it is taken before anything is refetched.
    onResponse: ({ new_secret: created }) => created !== null && setSecret(created),
    onSuccess: (saved) => {
      form.reset(toAlertValues(saved));
      notifySuccess(t('app.saved'));
    },
  });
  const form = useForm<AlertValues, BalanceAlertFields>({
    initial: toAlertValues(alert),
    validate: (values) => validateAlert(values, t),
    toVariables: toAlertFields,
    change: save,
  });
  const { isOn } = form.values;
  return (
    <>
      <form onSubmit={form.submit} noValidate>
        <Stack gap={20} maw={460}>
          {form.error !== null && <ErrorNotice error={form.error} />}
          <Switch
            {...form.bindChecked('isOn')}
            label={t('notifications.warn')}
            description={t('notifications.warnHelp')}
          />
          {isOn && (
            <>
              <MoneyField
                {...form.bindValue('threshold')}
                label={t('notifications.threshold')}
                description={
                  alert.default_threshold > 0
                    ? t('notifications.thresholdDefault', { amount: format.money(alert.default_threshold) })
                    : t('notifications.thresholdHelp')
                }
                styles={{ wrapper: { maxWidth: 220 } }}
              />
              <Switch
                {...form.bindChecked('mail')}
                disabled={!alert.can_mail}
                label={t('notifications.mail')}
                description={
                  alert.can_mail ? (
                    t('notifications.mailHelp')
                  ) : (
                    <>
                      {t('notifications.noMail')}{' '}
                      <Anchor component={Link} to="/profile" inherit underline="always">
                        {t('nav.profile')}
                      </Anchor>
                    </>
                  )
                }
              />
              <WebhookInput {...form.bind('webhook_url')} help={t('notifications.webhookHelp')} />
            </>
          )}
          <Group>
            <Button type="submit" loading={form.isPending} disabled={!form.isDirty}>
              {t('app.save')}
            </Button>
          </Group>
        </Stack>
      </form>
      {secret !== null && (
        <OneTimeSecret heading={t('keys.secret.once')} text={t('notifications.secretText')} secret={secret} />
      )}
      {secret === null && isOn && alert.webhook_url !== null && <AlertSecret alert={alert} onCreated={setSecret} />}
    </>
  );
}
