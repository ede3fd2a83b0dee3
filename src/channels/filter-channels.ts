import type { ChannelRecord } from '../store/ports/index.ts';

export type ChannelFilter = {
  /** A part of a name, an address, a model, a group or a plugin's key, in any case. */
  keyword?: string;
  status?: ChannelRecord['status'];
};

export const isFilter = ({ keyword = '', status }: ChannelFilter): boolean => keyword !== '' || status !== undefined;

/** The channels that match all of the filter. */
export function filterChannels(channels: readonly ChannelRecord[], filter: ChannelFilter): ChannelRecord[] {
  const part = (filter.keyword ?? '').toLowerCase();
  const listTexts = ({ name, baseUrl, models, groups, taskPluginKey }: ChannelRecord): string[] => [
    ...[name, baseUrl, taskPluginKey ?? ''],
    ...models,
    ...groups,
  ];
  return channels.filter(
    (channel) =>
      (filter.status === undefined || channel.status === filter.status) &&
      listTexts(channel).some((text) => text.toLowerCase().includes(part)),
  );
}
