/** The main job as a client does it: submit, wait, download. */
import { type Answer, ask } from './gateway.ts';
import { until } from './until.ts';

export type FinishedTask = { id: string; status: string; progress: string; fail_reason: string };

type Order = { plugin?: string } & Record<string, unknown>;

export const submit = (url: string, key: string, { plugin = 'demo', ...body }: Order): Promise<Answer> =>
  ask(`${url}/v1/tasks/${plugin}`, {
    token: key,
    body: { model: 'demo-video', prompt: 'a cat on a roof [duration=0.3]', ...body },
  });

export async function waitForEnd(url: string, key: string, id: string): Promise<FinishedTask> {
  return until(`the task ${id} ends`, async () => {
    const { body } = await ask(`${url}/v1/tasks/${id}`, { token: key });
    return ['SUCCESS', 'FAILURE'].includes(String(body.status)) ? (body as unknown as FinishedTask) : undefined;
  });
}
