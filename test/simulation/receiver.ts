import type { Faults } from './faults.ts';
import type { Site } from './network.ts';
import type { World } from './world.ts';

/** A webhook as it arrived. `accepted`: the receiver has processed it, whatever it answered. */
export type ReceivedNotice = {
  atMs: number;
  id: string;
  event: string;
  taskId: string;
  status: string;
  accepted: boolean;
  answered: number;
};

export type Receiver = { site: Site; readonly notices: readonly ReceivedNotice[] };

/** A receiver of webhooks that refuses some, and takes some although it answers that it failed. */
export function createReceiver(world: World, faults: Faults): Receiver {
  const notices: ReceivedNotice[] = [];
  return {
    notices,
    site({ headers, body }) {
      const { type, data } = JSON.parse(body) as { type: string; data: { id: string; status: string } };
      const answered = faults.draw('busy') ? 429 : faults.draw('broken') ? 500 : 204;
      const accepted = answered === 204 || faults.draw('brokenAfter');
      const id = headers['webhook-id'] ?? '';
      notices.push({ atMs: world.nowMs(), id, event: type, taskId: data.id, status: data.status, accepted, answered });
      world.note(`receiver: ${type} ${data.status} of ${data.id} ${answered}`);
      return { status: answered, body: '' };
    },
  };
}
