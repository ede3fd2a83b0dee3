import { type Receiver, startReceiver, verified } from '../../test/support/webhook-receiver.ts';

/** Share of notices whose first delivery is answered 503. */
const REFUSED = 0.05;

export type Notices = {
  receiver: Receiver;
  /** Status by the id of the task that was told as finished, with a valid signature. */
  finished: Map<string, string>;
  counts: { received: number; finished: number; refused: number; badSignatures: number; contradictions: number };
  /** The secret of the key whose notices come here; set before the first task. */
  secret: string;
};

/** A receiver that verifies what it gets, and sometimes fails at first. */
export async function collectNotices(): Promise<Notices> {
  const receiver = await startReceiver();
  const finished = new Map<string, string>();
  const counts = { received: 0, finished: 0, refused: 0, badSignatures: 0, contradictions: 0 };
  const notices: Notices = { receiver, finished, counts, secret: '' };
  const refused = new Set<string>();
  receiver.answer((notice, response) => {
    receiver.received.length = 0;
    counts.received += 1;
    if (verified(notice, notices.secret) !== 1) counts.badSignatures += 1;
    else if (Math.random() < REFUSED && !refused.has(notice.id)) {
      refused.add(notice.id);
      counts.refused += 1;
      response.writeHead(503).end();
      return;
    } else if (notice.payload.type === 'task.finished') {
      const { id, status } = notice.payload.data as { id: string; status: string };
      counts.finished += 1;
      if ((finished.get(id) ?? status) !== status) counts.contradictions += 1;
      finished.set(id, status);
    }
    response.writeHead(204).end();
  });
  return notices;
}
