import type { RelayObject, RelayRecord } from '../../store/ports/index.ts';
import { taskObject } from '../../tasks/index.ts';
import type { RelayDeps } from '../types.ts';
import { RELAY_PLUGIN_KEY } from '../usage/reserve-and-bill.ts';
import type { KnownVideo } from './complete-video.ts';

const STATUS = { OPEN: 'IN_PROGRESS', BILLED: 'SUCCESS', REFUNDED: 'FAILURE' } as const;

/** A request as a task. */
export const relayTask = (relay: RelayRecord, failReason = '') =>
  taskObject({
    ...{ taskId: relay.relayId, platform: RELAY_PLUGIN_KEY, action: relay.kind, userId: relay.userId },
    ...{ status: STATUS[relay.status], progress: relay.status === 'OPEN' ? '0%' : '100%', failReason },
    ...{ createdAt: relay.createdAt, finishTime: relay.finishedAt, quota: relay.quota, billing: relay.billing },
    properties: { originModelName: relay.model, upstreamModelName: '', input: '' },
    ...{ hiddenAt: 0, linkVersions: '' },
  });

/** Describes a video by what the gateway knows of it: the request, its cost and its link. */
export async function describeVideo(
  { store, shared: { linkVideo } }: Pick<RelayDeps, 'store' | 'shared'>,
  { relayId, userId, video: asked, createdAt }: Pick<RelayObject, 'relayId' | 'userId' | 'video' | 'createdAt'>,
): Promise<KnownVideo> {
  const [relay, link] = await Promise.all([store.relays.byRelayId(relayId), linkVideo({ relayId, userId })]);
  return { asked, createdAt, link, cost: relay && relayTask(relay).cost };
}
