import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel, ChannelHistory } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { describeRestReason } from './capacity-state.ts';

type RestEvent = ChannelHistory['rests'][number];

const kinds: Readonly<Record<RestEvent['what'], { text: TextKey; tone: Tone }>> = {
  rested: { text: 'channels.rests.rested', tone: 'waiting' },
  tried: { text: 'channels.rests.tried', tone: 'waiting' },
  back: { text: 'channels.rests.back', tone: 'good' },
  resumed: { text: 'channels.rests.resumed', tone: 'good' },
};

/**
 * Shows when an event happened. A pause also shows how long it lasted or, while it lasts, when the
 * next try is.
 */
function RestTime({ event, rests }: { event: RestEvent; rests: readonly RestEvent[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { at, until } = event;
  if (until === 0) return format.time(at);
  // The newest come first.
  const next = rests
    .slice(0, rests.indexOf(event))
    .findLast(({ model, credential_id: id }) => model === event.model && id === event.credential_id);
  const end = next?.at ?? until;
  const isOpen = end > Date.now() / 1000;
  return (
    <>
      {format.time(at)}
      <Text size="xs" c="dimmed">
        {isOpen
          ? t('channels.keyNextTry', { when: format.ago(until) })
          : t('channels.rests.lasted', { duration: format.duration(end - at) })}
      </Text>
    </>
  );
}

function RestKind({ event: { what } }: { event: RestEvent }) {
  const { t } = useTranslation();
  return <StatusLabel tone={kinds[what].tone}>{t(kinds[what].text)}</StatusLabel>;
}

/** When keys and models of a channel were paused, tried and came back. */
export function ChannelRests({ channel, rests }: { channel: Channel; rests: readonly RestEvent[] }) {
  const { t } = useTranslation();
  if (rests.length === 0) return null;
  const nameKey = (id: number): string => {
    const found = channel.credentials.find((each) => each.id === id);
    if (!found) return t('channels.rests.removedKey');
    return found.label === '' ? t('channels.keyEnds', { hint: found.key_hint || '…' }) : found.label;
  };
  const nameSubject = ({ model, credential_id: id }: RestEvent): string =>
    model || (id === 0 ? t('channels.rests.channel') : nameKey(id));
  const columns: readonly Column<RestEvent>[] = [
    {
      key: 'of',
      heading: t('channels.rests.of'),
      render: nameSubject,
    },
    {
      key: 'what',
      heading: t('channels.rests.what'),
      render: (event) => <RestKind event={event} />,
    },
    {
      key: 'reason',
      wide: true,
      heading: t('channels.reason'),
      render: ({ reason }) => describeRestReason(reason, t),
    },
    {
      key: 'at',
      heading: t('channels.rests.at'),
      numeric: true,
      render: (event) => <RestTime event={event} rests={rests} />,
    },
  ];
  return (
    <Section heading={t('channels.rests')} intro={t('channels.restsHelp')}>
      <PlainTable
        label={t('channels.rests')}
        rows={rests}
        rowKey={({ id }) => String(id)}
        columns={columns}
        brief={(event) => (
          <RowBrief
            name={nameSubject(event)}
            state={<RestKind event={event} />}
            facts={[describeRestReason(event.reason, t)]}
            wraps
            wrapsName
            detail={<RestTime event={event} rests={rests} />}
          />
        )}
      />
    </Section>
  );
}
