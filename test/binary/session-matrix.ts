/**
 * Sessions of the compiled binary: issuance, refresh, logout, their states, their cookies and their
 * limits, with two nodes where the database allows it. What one node changes is checked on the
 * other.
 */
import { afterAll, beforeAll, describe } from 'bun:test';
import { describeIssuance } from './session-matrix-issuance.ts';
import { openTopology, type Topology, type TopologyName } from './session-matrix-nodes.ts';
import { describeStates } from './session-matrix-states.ts';
import { describeSurroundings } from './session-matrix-surroundings.ts';
import { describeVerdicts } from './session-matrix-verdicts.ts';

export function describeSessionMatrix(name: TopologyName): void {
  let topology: Topology | undefined;
  beforeAll(async () => {
    topology = await openTopology(name);
  });
  afterAll(() => topology?.stop());
  const open = (): Topology => {
    if (!topology) throw new Error('the nodes are not up');
    return topology;
  };
  describe(`issuance on ${name}`, () => describeIssuance(name, open));
  describe(`refresh and logout on ${name}`, () => describeVerdicts(name, open));
  describe(`states of a session on ${name}`, () => describeStates(name, open));
  describe(`cookies, origins, limits and failures on ${name}`, () => describeSurroundings(name, open));
}
