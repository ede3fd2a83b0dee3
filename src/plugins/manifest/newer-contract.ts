import type { ContractNeed, PluginFault } from '../types.ts';

const WORDS = { fields: 'newer manifest fields', protocols: 'newer protocols', hooks: 'newer hooks' };

/** What is needed, in words for people who have not written the plugin. */
export const describeNeeds = (needs: readonly ContractNeed[]): string =>
  needs.map((need) => (need.code === 'api' ? `plugin API ${need.version}` : WORDS[need.code])).join(', ');

/**
 * What a refused plugin needs of a newer contract: if it says so by its `apiVersion`, or if names
 * that this gateway does not know are all that is wrong. Empty if it is simply faulty.
 */
export function findNeeds(faults: readonly PluginFault[]): ContractNeed[] {
  const needs = faults.flatMap(({ needs: need }) => (need ? [need] : []));
  const api = needs.find(({ code }) => code === 'api');
  if (api) return [api];
  if (needs.length < faults.length) return [];
  return needs.filter(({ code }, at) => needs.findIndex((each) => each.code === code) === at);
}
