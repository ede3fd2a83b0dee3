import { Alert, Anchor, Box, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { IconAlertCircle, IconChevronDown } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type Channel, channelStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { isCapacityShort, isFull, isPaused, isResting, type ModelCapacity, restReasons } from './capacity-state.ts';
import classes from './channels.module.css';

type Capacity = Channel['capacity'];

const limitReasons: Readonly<Record<Capacity['limit_reason'], TextKey>> = {
  '': 'channels.limit.unknown',
  start: 'channels.limit.start',
  grown: 'channels.limit.grown',
  refused: 'channels.limit.refused',
  raised: 'channels.limit.raised',
  told: 'channels.limit.told',
};

/** Why nothing new is sent to the whole channel, and what ends that; nothing where it is sent. */
export function ChannelRest({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { rest_reason: reason, resting_since: since, resting_until: until, rest_step: count } = channel.capacity;
  if (reason === '' || !isPaused(channel.capacity)) return null;
  const isOneKey = reason === 'credential' && channel.credentials.length === 1;
  const { credentials: keys } = channel.capacity;
  const refused = keys.find((key) => isResting(key) && key.rest_reason === reason) ?? keys[0];
  const said = isOneKey
    ? t('channels.rejectedSince', { since: format.time(since) })
    : t('channels.pausedSince', { since: format.time(since), reason: t(restReasons[reason]) });
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertCircle size={20} stroke={1.6} aria-hidden="true" />}
      role="alert"
    >
      <Stack gap="sm">
        <Text size="sm" inherit>
          {said} {t('channels.pausedAttempts', { count })} {t('channels.pausedNext', { when: format.ago(until) })}
        </Text>
        <Group gap="xs">
          {(reason === 'credential' || reason === 'balance') && (
            <Button
              component={Link}
              to={`/channels/${channel.id}?${new URLSearchParams({ tab: 'settings', key: String(refused?.id ?? '') })}`}
              size="xs"
              variant={reason === 'credential' ? 'filled' : 'default'}
            >
              {t('channels.replaceKey')}
            </Button>
          )}
          <CapacityActions channel={channel} rests learned={false} abandoned={0} />
        </Group>
      </Stack>
    </Alert>
  );
}

/**
 * Which slots of the account are in use, what waits for one, and where its limits come from: in a
 * line until it matters.
 */
export function ChannelCapacity({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const [wasShort, setShort] = useState(false);
  const [chosen, choose] = useState<boolean>();
  const { capacity } = channel;
  const isShort = isCapacityShort(channel);
  // It stays open when slots become free: somebody may be reading.
  if (isShort && !wasShort) setShort(true);
  const isOpen = chosen ?? (wasShort || isShort);
  // The notice above resumes a channel that is paused as a whole, and its row a single model.
  const rests = !isPaused(capacity) && capacity.models.filter(isResting).length > 1;
  return (
    <Section
      heading={t('channels.capacity')}
      intro={isOpen ? t('channels.capacityHelp') : <CapacityLine capacity={capacity} />}
      actions={
        <>
          <CapacityActions channel={channel} rests={rests} learned={false} abandoned={0} />
          <Button
            variant="default"
            size="xs"
            aria-expanded={isOpen}
            rightSection={<IconChevronDown size={16} stroke={1.6} aria-hidden="true" className={classes.chevron} />}
            onClick={() => choose(!isOpen)}
          >
            {t('queue.byModel')}
          </Button>
        </>
      }
    >
      {isOpen && <CapacityDetails channel={channel} />}
    </Section>
  );
}

/** "Slots in use: 1 of 96 · Waiting: 0" */
function CapacityLine({ capacity: { running, abandoned, limit, waiting } }: { capacity: Capacity }) {
  const { t } = useTranslation();
  const format = useFormat();
  const taken = format.number(running + abandoned);
  const slots = limit === null ? taken : t('queue.slotsOf', { taken, limit: format.number(limit) });
  return `${t('channels.slotsInUse')}: ${slots} · ${t('channels.waiting')}: ${format.number(waiting)}`;
}

function CapacityDetails({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { capacity } = channel;
  const { abandoned, models, waiting } = capacity;
  const learned = models.some((each) => each.learned && each.limit_reason !== '');
  return (
    <>
      <dl className={classes.facts}>
        <div>
          <dt>{t('channels.slotsInUse')}</dt>
          <dd>
            <Slots capacity={capacity} />
            {!isSumOfModels(capacity) && <LimitReason capacity={capacity} />}
          </dd>
        </div>
        <div>
          <dt>{t('channels.waiting')}</dt>
          <dd>
            {format.number(waiting)}
            {waiting > 0 && (
              <>
                {' · '}
                <Anchor component={Link} to="/queue" size="sm">
                  {t('channels.viewQueue')}
                </Anchor>
              </>
            )}
          </dd>
        </div>
      </dl>
      {abandoned > 0 && (
        <Group gap="8px 16px" justify="space-between">
          <div>
            <Text size="sm" className={classes.held}>
              {t('channels.abandonedHeld', { count: abandoned, shown: format.number(abandoned) })}
            </Text>
            <Text size="sm" c="dimmed">
              {t('channels.abandonedHelp', { count: abandoned })}
            </Text>
          </div>
          <CapacityActions channel={channel} rests={false} learned={false} abandoned={abandoned} />
        </Group>
      )}
      {models.length > 0 && <ModelTable channel={channel} />}
      {learned && (
        <Group gap="8px 16px" justify="space-between">
          <Text size="sm" c="dimmed">
            {t('channels.forgetCeilingHelp')}
          </Text>
          <CapacityActions channel={channel} rests={false} learned abandoned={0} />
        </Group>
      )}
    </>
  );
}

const countTaken = ({ running, abandoned }: Pick<ModelCapacity, 'running' | 'abandoned'>): number =>
  running + abandoned;

type SlotsProps = {
  capacity: ModelCapacity;
  /** In one line with its bar, or without it. */
  as?: 'line' | 'text';
};

/** "3 of 5" with a bar, or "3" where the limit is not known. */
export function Slots({ capacity: { running, abandoned, limit }, as }: SlotsProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const taken = countTaken({ running, abandoned });
  if (limit === null) return format.number(taken);
  const text = t('queue.slotsOf', { taken: format.number(taken), limit: format.number(limit) });
  if (as === 'text') return text;
  return (
    <div className={classes.slots} data-line={as === 'line' || undefined}>
      <span>{text}</span>
      <Progress.Root size={6} className={classes.slotBar}>
        <Progress.Section value={(100 * running) / limit} aria-label={t('channels.slotsInUse')} />
        {abandoned > 0 && (
          <Progress.Section color="gray" value={(100 * abandoned) / limit} aria-label={t('channels.abandoned')} />
        )}
      </Progress.Root>
    </div>
  );
}

/** The limits of its models say it. */
const isSumOfModels = ({ limit, learned, limit_reason: reason }: ModelCapacity): boolean =>
  limit !== null && learned && reason === '';

const isDeclared = ({ limit, learned, limit_reason: reason }: ModelCapacity): boolean =>
  !learned && limit !== null && reason !== 'told';

/** Where a limit comes from. */
function LimitReason({ capacity }: { capacity: ModelCapacity }) {
  const { t } = useTranslation();
  return (
    <Text size="xs" c="dimmed" mt={4}>
      {isDeclared(capacity) ? (
        <Anchor component={Link} to="?tab=settings" inherit>
          {t('channels.limit.declared')}
        </Anchor>
      ) : (
        t(limitReasons[capacity.limit_reason])
      )}
    </Text>
  );
}

/** Says when something new is sent there again, and why nothing is sent now. */
function Rest({ capacity }: { capacity: Pick<ModelCapacity, 'resting_until' | 'rest_reason'> }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { rest_reason: reason, resting_until: until } = capacity;
  return (
    <StatusLabel tone="waiting" wraps>
      {t('channels.restsUntil', { when: format.ago(until), reason: reason === '' ? '' : t(restReasons[reason]) })}
    </StatusLabel>
  );
}

/** What a model does with a new task, as its channel lets it. */
function ModelState({ model, channel }: { model: ModelCapacity; channel: Channel }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (channel.status !== channelStatus.enabled) return <StatusLabel tone="quiet">{t('channels.off')}</StatusLabel>;
  const { capacity } = channel;
  if (isResting(model)) return <Rest capacity={model} />;
  if (isPaused(capacity)) return <StatusLabel tone="waiting">{t('channels.pausedToo')}</StatusLabel>;
  if (!isFull(model) && (capacity.learned || !isFull(capacity)))
    return <StatusLabel tone="good">{t('channels.takesTasks')}</StatusLabel>;
  const { waiting } = model;
  return (
    <StatusLabel tone="waiting">
      {waiting === 0 ? t('channels.full') : t('channels.fullWaiting', { shown: format.number(waiting) })}
    </StatusLabel>
  );
}

/** Whether it is the only model that rests: then its rest can be ended without ending others. */
const restsAlone = (model: ModelCapacity, { status, capacity }: Channel): boolean =>
  status === channelStatus.enabled &&
  !isPaused(capacity) &&
  isResting(model) &&
  capacity.models.filter(isResting).length === 1;

function ModelTable({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { models } = channel.capacity;
  const isAlone = (model: ModelCapacity): boolean => restsAlone(model, channel);
  const wake = <CapacityActions channel={channel} rests learned={false} abandoned={0} />;
  const columns: readonly Column<Capacity['models'][number]>[] = [
    { key: 'model', heading: t('channels.vendorModel'), render: ({ model }) => model },
    {
      key: 'slots',
      heading: t('channels.slotsInUse'),
      render: (each) => (
        <>
          <Slots capacity={each} />
          <LimitReason capacity={each} />
        </>
      ),
    },
    {
      key: 'state',
      heading: t('tasks.status'),
      wide: true,
      render: (each) => (
        <Stack gap={6} align="flex-start">
          <ModelState model={each} channel={channel} />
          {isAlone(each) && wake}
        </Stack>
      ),
    },
  ];
  return (
    <PlainTable
      label={t('channels.byModel')}
      columns={columns}
      rows={models}
      rowKey={({ model }) => model}
      brief={(each) => (
        <RowBrief
          name={each.model}
          figure={each.limit === null ? undefined : <Slots capacity={each} as={isAlone(each) ? 'text' : 'line'} />}
          state={<ModelState model={each} channel={channel} />}
          facts={[each.limit === null ? `${t('channels.slotsInUse')}: ${format.number(countTaken(each))}` : '']}
          wraps
          detail={<LimitReason capacity={each} />}
          {...(isAlone(each) ? { actions: <Box me={8}>{wake}</Box> } : {})}
        />
      )}
    />
  );
}

const actions = {
  wake: 'channels.woken',
  'clear-ceilings': 'channels.ceilingForgotten',
  'clear-abandoned': 'channels.abandonedFreed',
} as const satisfies Record<string, TextKey>;
type Action = keyof typeof actions;

type CapacityActionsProps = {
  channel: Pick<Channel, 'id'>;
  rests: boolean;
  learned: boolean;
  abandoned: number;
};

/** Ends a rest, forgets what was learned, frees slots; only what there is something of. */
function CapacityActions({ channel: { id }, rests, learned, abandoned }: CapacityActionsProps) {
  const { t } = useTranslation();
  const change = useApiMutation<Action>({
    request: (action) => ({ method: 'POST', path: `/api/channel/${id}/${action}` }),
    invalidates: ['/api/channel', '/api/queue'],
    onSuccess: (_, action) => notifySuccess(t(actions[action])),
  });
  const button = (action: Action, text: string) => (
    <Button
      variant="default"
      size="xs"
      loading={change.isPending && change.variables === action}
      onClick={() => change.mutate(action)}
    >
      {text}
    </Button>
  );
  return (
    <>
      <Group gap="xs">
        {rests && button('wake', t('channels.tryNow'))}
        {learned && button('clear-ceilings', t('channels.forgetCeiling'))}
        {abandoned > 0 && button('clear-abandoned', t('channels.freeAbandoned', { count: abandoned }))}
      </Group>
      {change.isError && <ErrorNotice error={change.error} />}
    </>
  );
}
