import { join } from 'node:path';
import { ask } from '../../test/support/gateway.ts';
import { until } from '../../test/support/until.ts';
import { type Figure, higher, lower, type Measured, note, percentile, row } from '../figures.ts';
import { fetchFiles } from '../load/fetch-files.ts';
import { CONNECTIONS } from '../load/measure-requests.ts';
import { startNginx } from '../load/start-nginx.ts';
import { type Script, startScript } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { cpuSeconds, readMemory } from '../read-processes.ts';
import { openStage, type Stage } from '../stage.ts';

const ENVIRONMENT = {
  TASK_ARTIFACT_GLOBAL_CONCURRENCY: '1000',
  TASK_ARTIFACT_IP_CONCURRENCY: '1000',
  TASK_ARTIFACT_OBJECT_CONCURRENCY: '1000',
  RESULTS_MIN_FREE_MB: '0',
};
const SIZES = [
  { what: '1 KB', bytes: 1024 },
  { what: '64 MiB', bytes: 64 * 1024 * 1024 },
];
/** Alternating, so that both have the same neighbours on the machine. */
const ROUNDS = 3;
/** The share of nginx's speed to reach, and how many ms later the first byte may come. */
const AIM_SHARE = 0.8;
const AIM_FIRST_BYTE_MS = 1;

type KeptFile = { path: string; place: string; bytes: number };
type Side = { rate: number; firstByte: number; micros: number };

/** Kept results from the folder, beside nginx on the same files. */
export async function benchKept({ build, seconds }: Run): Promise<Figure[]> {
  const stage = await openStage(build, ENVIRONMENT);
  let nginx: Script | undefined;
  let least: Script | undefined;
  try {
    await stage.admin.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
    nginx = await startNginx(join(stage.gateway.dataDir, 'results'));
    least = await startScript('least/files.ts', [String(SIZES[0]?.bytes)]);
    if (!nginx) process.stderr.write('  nginx is not installed: kept results are measured without it\n');
    const figures: Figure[] = [];
    for (const { what, bytes } of SIZES) {
      const file = await keepFile(stage, bytes);
      const peers = { nginx, least: bytes === SIZES[0]?.bytes ? least : undefined };
      figures.push(
        ...row(`kept ${what}, ${CONNECTIONS} at once`, await compare(stage, peers, { file, seconds }), {
          "share of nginx's rate": AIM_SHARE,
          'more to the first byte': AIM_FIRST_BYTE_MS,
        }),
      );
    }
    return figures;
  } finally {
    await nginx?.stop();
    await least?.stop();
    await stage.stop();
  }
}

async function keepFile({ gateway: { url }, key, submit }: Stage, bytes: number): Promise<KeptFile> {
  const task = await submit(`a lighthouse in the fog [file=${bytes}]`);
  const artifact = await until('the result is kept', async () => {
    const { body } = await ask(`${url}/v1/tasks/${task}/artifacts`, { token: key });
    const [found] = (body.artifacts ?? []) as { content_url: string; kept?: string; sha256?: string }[];
    return found?.kept === 'kept' && found;
  });
  const { pathname, search } = new URL(artifact.content_url);
  const sha256 = artifact.sha256 ?? '';
  return { path: `${pathname}${search}`, place: `/${sha256.slice(0, 2)}/${sha256}`, bytes };
}

type Peers = { nginx: Script | undefined; least: Script | undefined };

async function compare(
  { gateway }: Stage,
  { nginx, least }: Peers,
  { file, seconds }: { file: KeptFile; seconds: number },
): Promise<Measured[]> {
  const own: Side[] = [];
  const peer: Side[] = [];
  const floor: Side[] = [];
  let before = 0;
  let most = 0;
  // The first round loads what the others use.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const ours = await measure(gateway, { ...file, seconds });
    most = Math.max(most, readMemory(gateway.pid).rssMb);
    if (round === 0) before = most;
    const beside = nginx && (await measure(nginx, { ...file, path: file.place, seconds }));
    const lowest = least && (await measure(least, { ...file, seconds }));
    if (round === 0) continue;
    own.push(ours);
    if (beside) peer.push(beside);
    if (lowest) floor.push(lowest);
  }
  const median = (sides: Side[], name: keyof Side) =>
    percentile(
      sides.map((side) => side[name]),
      0.5,
    );
  const mega = file.bytes / 1e6;
  const figures = [
    higher('rate', median(own, 'rate'), '/s'),
    note('that is', median(own, 'rate') * mega, 'MB/s'),
    lower('first byte, one at a time', median(own, 'firstByte'), 'ms'),
    lower('processor a file', median(own, 'micros'), 'µs'),
    note('memory beyond the first round', most - before, 'MB'),
  ];
  if (least) {
    figures.push(
      note("the least program's rate", median(floor, 'rate'), '/s'),
      note("the least program's processor a file", median(floor, 'micros'), 'µs'),
    );
  }
  if (!nginx) return figures;
  return [
    ...figures,
    higher("share of nginx's rate", median(own, 'rate') / median(peer, 'rate'), ''),
    lower('more to the first byte', median(own, 'firstByte') - median(peer, 'firstByte'), 'ms'),
    note("nginx's rate", median(peer, 'rate'), '/s'),
    note("nginx's processor a file", median(peer, 'micros'), 'µs'),
  ];
}

async function measure(
  { port, pid }: { port: number; pid: number },
  { path, bytes, seconds }: { path: string; bytes: number; seconds: number },
): Promise<Side> {
  const single = await fetchFiles({ port, path, bytes, connections: 1, seconds: seconds / 5 });
  const cpu = cpuSeconds(pid);
  const { files, took } = await fetchFiles({ port, path, bytes, connections: CONNECTIONS, seconds });
  return {
    rate: files / took,
    firstByte: percentile(single.firstByteMs, 0.5),
    micros: ((cpuSeconds(pid) - cpu) / files) * 1e6,
  };
}
