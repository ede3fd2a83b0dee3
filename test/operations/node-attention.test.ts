import { expect, test } from 'bun:test';
import { listNodeAttention } from '../../src/operations/overview/list-node-attention.ts';
import type { AliveNode } from '../../src/store/ports/index.ts';

const node = (id: string, startedAt: number, silentSeconds: number): AliveNode => ({
  ...{
    id,
    role: 'master',
    version: '1.0.0',
    startedAt,
    fingerprints: [],
    features: [],
    host: '',
    drained: false,
    silentSeconds,
  },
  heartbeatAt: 10_000 - silentSeconds,
});

const findGone = async (...nodes: AliveNode[]): Promise<string[]> => {
  const store = { dialect: 'postgres' as const, nodes: { alive: async () => nodes } as never };
  const items = await listNodeAttention(store);
  return items.filter(({ code }) => code === 'node_gone').map(({ params }) => String(params?.node));
};

test('a node that fell silent is reported until one was started in its place', async () => {
  const beside = node('beside', 100, 1);
  const lost = node('lost', 100, 600);
  expect(await findGone(beside, lost)).toEqual(['lost']);
  expect(await findGone(beside, lost, node('again', 9500, 1))).toEqual([]);
  // One start takes the place of one node.
  const other = node('other', 100, 700);
  expect(await findGone(beside, lost, other, node('again', 9500, 1))).toEqual(['other']);
});
