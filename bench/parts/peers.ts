import { type Figure, higher, note, row } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { CONNECTIONS, measureRequests } from '../load/measure-requests.ts';
import { startScript } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { startNewApi } from '../peers/new-api.ts';
import { startPocketBase } from '../peers/pocketbase.ts';
import { type ChatAddress, PEER_ROWS, type Peer } from '../peers/start-peer.ts';
import { openStage } from '../stage.ts';
import { CHAT_MODEL, formatChat, formatSubmission, openChannel } from './alone.ts';
import { NO_LIMITS } from './requests.ts';

const ROWS = 1000;
const WARM_UP_REQUESTS = 500;

/**
 * This build beside other programs, whose executables the environment names: `NEWAPI_BIN`,
 * `POCKETBASE_BIN`. Each row is measured on one after the other, alone and by 32 connections.
 */
export async function benchPeers({ build, seconds }: Run): Promise<Figure[]> {
  const { NEWAPI_BIN: newApi, POCKETBASE_BIN: pocketBase } = process.env;
  if (!newApi && !pocketBase) throw new Error('NEWAPI_BIN or POCKETBASE_BIN must name an executable to compare with.');
  const vendor = await startScript('load/serve-chats.ts');
  const chats: ChatAddress = { url: vendor.url, key: 'sk-chats', model: CHAT_MODEL };
  const peers: Peer[] = [];
  try {
    peers.push(await startTaskgate(build, chats));
    if (newApi) peers.push(await startNewApi(newApi, chats));
    if (pocketBase) peers.push(await startPocketBase(pocketBase));
    const figures: Figure[] = [];
    for (const what of PEER_ROWS)
      for (const connections of [1, CONNECTIONS])
        figures.push(...(await measureRow(peers, { what, connections, seconds })));
    return figures;
  } finally {
    await Promise.all([vendor.stop(), ...peers.map((peer) => peer.stop())]);
  }
}

type Row = { what: (typeof PEER_ROWS)[number]; connections: number; seconds: number };

async function measureRow(peers: readonly Peer[], { what, connections, seconds }: Row): Promise<Figure[]> {
  const figures: Figure[] = [];
  const costs: number[] = [];
  const label = `${what}, ${connections === 1 ? 'alone' : `${connections} connections`}`;
  for (const { name, requests, ...gateway } of peers) {
    const text = requests[what];
    if (text === undefined) continue;
    const load = { gateway, seconds, connections, warmUpRequests: WARM_UP_REQUESTS, next: () => text };
    const measured = await measureRequests({ what: `${label}: ${name}`, ...load });
    costs.push(measured.find((figure) => figure.name === 'processor a request')?.value ?? 0);
    figures.push(...measured);
  }
  const [own, ...others] = costs;
  if (own === undefined || others.length === 0) return figures;
  return [
    ...figures,
    ...row(label, [
      higher("cheapest peer's processor ÷ ours", Math.min(...others) / own, '×'),
      note('programs', costs.length, ''),
    ]),
  ];
}

/** A submission stands where a peer writes a row: it has hooks, a reservation and a vendor too. */
async function startTaskgate(build: Run['build'], chats: ChatAddress): Promise<Peer> {
  const { gateway, admin, key, submit, stop } = await openStage(build, NO_LIMITS);
  let task = '';
  for (let number = 0; number < ROWS; number += 1) task = await submit('a lighthouse in the fog [file=1]');
  const relayKey = await openChannel(admin, { ...chats, url: `${chats.url}/v1` });
  const read = (path: string, token: string): string =>
    formatRequest('GET', path, { headers: { authorization: `Bearer ${token}` } });
  return {
    ...{ name: 'Taskgate', port: gateway.port, pid: gateway.pid, stop },
    requests: {
      'session read': read('/api/user/self', admin.token),
      'first page of 1,000 rows': read('/api/task?page=1&page_size=20', admin.token),
      'read of one row': read(`/v1/tasks/${task}`, key),
      'durable write of one row': formatSubmission(key),
      'relayed chat': formatChat(relayKey, false),
      'relayed stream of 100 events': formatChat(relayKey, true),
    },
  };
}
