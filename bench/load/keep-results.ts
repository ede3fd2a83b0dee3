import { ask, type Gateway } from '../../test/support/gateway.ts';

/** More than the copies of a node at once, so that there is always one to begin. */
const CLIENTS = 8;
const LOOK_EVERY_MS = 250;

/** Tasks whose results are kept one after the other, until `stop`. */
export type Keeping = { kept(): number; stop(): Promise<void> };

/** Each client has one task that is not kept yet. Rejects in `stop` when one failed. */
export function keepResults({ url }: Pick<Gateway, 'url'>, { key, bytes }: { key: string; bytes: number }): Keeping {
  const stopping = new AbortController();
  let kept = 0;

  async function keepOne(): Promise<void> {
    const body = { model: 'demo-video', prompt: `a lighthouse in the fog [file=${bytes}]` };
    const submitted = await ask(`${url}/v1/tasks/demo`, {
      token: key,
      body,
      headers: { 'x-keep-result': 'true' },
    });
    if (submitted.status !== 200) throw new Error(`a submission was answered ${submitted.status}`);
    while (!stopping.signal.aborted) {
      const { body: answer } = await ask(`${url}/v1/tasks/${submitted.body.id}/artifacts`, { token: key });
      const [artifact] = (answer.artifacts ?? []) as { kept?: string }[];
      if (artifact?.kept === 'kept') {
        kept += 1;
        return;
      }
      await Bun.sleep(LOOK_EVERY_MS);
    }
  }

  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!stopping.signal.aborted) await keepOne();
  });
  const ended = Promise.all(clients);
  ended.catch(() => undefined);
  return {
    kept: () => kept,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
