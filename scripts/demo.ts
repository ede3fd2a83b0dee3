import { createHash } from 'node:crypto';
import { QUOTA_PER_USD } from '../src/kernel/quota.ts';
import { ask, setUp, startGateway, startVendor } from '../test/support/gateway.ts';
import { submit, waitForEnd } from '../test/support/main-job.ts';
import { buildExecutable } from './build.ts';

/**
 * npm run demo: the main job on the compiled binary, over real HTTP, against the built-in demo
 * vendor: upload a plugin, make a channel, submit, wait, download, settle. Everything lives in a
 * temporary folder and is gone afterwards.
 */
const say = (line: string) => console.log(line);
const step = (number: number, text: string) => say(`\n${number}. ${text}`);

/** 0.02 USD a second of video. */
const PRICE = '0.02 * u("seconds")';
const usd = (quota: number) => `${(quota / QUOTA_PER_USD).toFixed(4)} USD`;

async function main(): Promise<number> {
  await buildExecutable();
  const vendor = await startVendor();
  const gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  try {
    say(`Gateway       ${gateway.url}`);
    say(`Demo vendor   ${vendor.url}`);

    step(1, 'The one-time link makes the administrator, who signs in');
    const admin = await setUp(gateway);
    const before = await admin.quota();
    say(`   balance ${before} (${usd(before)})`);

    step(2, 'Upload a plugin');
    const source = (await Bun.file(new URL('../src/plugins/factory/demo.js', import.meta.url)).text())
      .replace(/key: 'demo'/, "key: 'my-vendor'")
      .replaceAll('demo-video', 'my-video')
      .replaceAll('/demo/', '/my-vendor/');
    await admin.call('POST', '/api/plugin/task', { source, remark: 'uploaded by the demo' });
    say('   POST /api/plugin/task → my-vendor, active');

    step(3, 'Make a channel, a price and an API key');
    const channel = await admin.createChannel(vendor.url, {
      name: 'my vendor',
      task_plugin_key: 'my-vendor',
      models: ['my-video'],
    });
    await admin.call('PUT', '/api/price', { plugin_key: 'my-vendor', model: 'my-video', expression: PRICE });
    const key = await admin.createKey({ name: 'demo' });
    say(`   channel ${channel} → ${vendor.url}, price ${PRICE} USD, key ${key.slice(0, 8)}…`);

    step(4, 'Submit a task');
    const submitted = await submit(gateway.url, key, {
      plugin: 'my-vendor',
      model: 'my-video',
      prompt: 'a paper boat on a river [duration=2]',
      seconds: 5,
    });
    if (submitted.status !== 200) throw new Error(JSON.stringify(submitted.body));
    const id = String(submitted.body.id);
    say(`   POST /v1/tasks/my-vendor → ${id}`);
    say(`   reserved ${before - (await admin.quota())}`);

    step(5, 'The gateway polls the vendor to the end');
    const done = await waitForEnd(gateway.url, key, id);
    const detail = await admin.call<{
      timeline: { kind: string; status: string }[];
      ledger: { kind: string; amount: number }[];
    }>('GET', `/api/task/${id}`);
    say(
      `   ${detail.timeline
        .filter(({ kind }) => kind === 'transition')
        .map(({ status }) => status)
        .join(' → ')}`,
    );
    if (done.status !== 'SUCCESS') throw new Error(done.fail_reason);
    const seen = await vendor.stats(id);
    say(`   the vendor counted ${seen.creates} creation`);

    step(6, 'Download the artifact through the gateway');
    const { body } = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key });
    const [artifact] = body.artifacts as { key: string; content_url: string }[];
    const file = await fetch(artifact?.content_url ?? '');
    const bytes = new Uint8Array(await file.arrayBuffer());
    say(`   GET ${new URL(artifact?.content_url ?? '').pathname}`);
    say(`   ${file.status} ${file.headers.get('content-type')}, ${bytes.byteLength} bytes`);
    say(`   SHA-256 ${createHash('sha256').update(bytes).digest('hex')}`);

    step(7, 'The bill');
    for (const line of detail.ledger) say(`   ${line.kind.padEnd(8)} ${String(line.amount).padStart(8)}`);
    const bill = -detail.ledger.reduce((sum, line) => sum + line.amount, 0);
    const after = await admin.quota();
    say(`   balance ${before} → ${after}, bill ${bill} (${usd(bill)})`);
    if (before - after !== bill || !file.ok || seen.creates !== 1) throw new Error('the figures do not agree');
    say('\nbalance unchanged except for the settled bill');
    return 0;
  } finally {
    await gateway.stop();
    await vendor.stop();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
