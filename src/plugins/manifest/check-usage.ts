import type { UsageFacts } from '../../../contracts/v1.d.ts';
import type { UsageField } from '../types.ts';
import { checkFact } from '../usage/check-facts.ts';
import { type FaultList, pointer } from './faults.ts';

/** Rules of `meta.usageExamples` beyond the schema: each is a complete vector of valid facts. */
export function checkUsageExamples(
  schema: Readonly<Record<string, UsageField>>,
  examples: readonly { label: string; facts: UsageFacts }[],
  list: FaultList,
): void {
  for (const [index, { facts }] of examples.entries()) {
    const at = pointer('usageExamples', index, 'facts');
    if (!list.clean(at)) continue;
    for (const [name, field] of Object.entries(schema)) {
      if (!Object.hasOwn(facts, name)) {
        list.add(at + pointer(name), 'usageExample.facts.complete', 'an example names every declared usage field');
        continue;
      }
      const checked = checkFact(field, facts[name]);
      if (!checked.ok) list.add(at + pointer(name), 'usageExample.facts.value', checked.error);
    }
    for (const name of Object.keys(facts)) {
      if (!Object.hasOwn(schema, name)) {
        list.add(at + pointer(name), 'usageExample.facts.undeclared', `"${name}" is not declared in usageSchema`);
      }
    }
  }
}
