import { UTILS, UTILS_EXTENSIONS } from './contract-fields.ts';
import { readNames, usesOf } from './find-unknown-names.ts';
import { membersOfResults } from './follow-results.ts';
import { bindingsOf, collectNodes, nameOf, readPluginSyntax, type Syntax } from './plugin-syntax.ts';

/** Fields of descriptors that other hosts ignore. */
const CONTENT_FIELDS = ['base64', 'redirectHosts'];

/**
 * What a plugin uses inside its hooks that only this gateway has: members of `utils` that it does
 * not test for, and fields of descriptors and answers.
 */
export function findUsedExtensions(program: Syntax): string[] {
  const syntax = readPluginSyntax(program);
  const content = syntax.hooks.get('buildContentRequest');
  const returned = content ? membersOfResults(syntax, content).map(({ name }) => name) : [];
  return [
    ...usedUtils(program),
    ...CONTENT_FIELDS.filter((name) => returned.includes(name)).map((name) => `buildContentRequest.${name}`),
    ...(readsBytes(syntax.hooks.get('parseSubmitResponse')) ? ['response.base64'] : []),
  ];
}

function usedUtils(program: Syntax): string[] {
  const nodes = collectNodes(program);
  const { declared, tested } = readNames(nodes);
  if (declared.has('utils')) return [];
  const used = usesOf(nodes, ['utils']).map(({ member }) => `utils.${member}`);
  const names = new Set([...UTILS_EXTENSIONS].filter((name) => !UTILS.has(name)).map((name) => `utils.${name}`));
  return [...new Set(used)].filter((name) => names.has(name) && !tested.has(name)).sort();
}

/** Whether `parseSubmitResponse` reads `base64` of its answer, by a dot or by a pattern. */
function readsBytes(hook: Syntax | undefined): boolean {
  const response = hook?.params?.[1];
  if (!hook || !response) return false;
  if (bindingsOf(response).some(([, field]) => field === 'base64')) return true;
  const name = nameOf(response);
  return name !== undefined && usesOf(collectNodes(hook), [name]).some(({ member }) => member === 'base64');
}
