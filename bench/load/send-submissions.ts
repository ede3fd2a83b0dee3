import { ask } from '../../test/support/gateway.ts';

/**
 * Submits without end, `clients` at once: `bun bench/load/send-submissions.ts URL KEY CLIENTS`. A
 * process of its own, so that it delays no one who measures.
 */
export async function submitOnce(url: string, key: string): Promise<void> {
  const body = { model: 'demo-video', prompt: 'a lighthouse in the fog [duration=1]' };
  const answer = await ask(`${url}/v1/tasks/demo`, { token: key, body });
  if (answer.status !== 200)
    throw new Error(`a submission was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}

if (import.meta.main) {
  const [url = '', key = '', clients = '1'] = process.argv.slice(2);
  const forever = async (): Promise<never> => {
    for (;;) {
      await submitOnce(url, key);
      process.stdout.write('.');
    }
  };
  await Promise.all(Array.from({ length: Number(clients) }, forever));
}
