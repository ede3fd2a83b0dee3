import { canonicalJson, sha256Hex } from '../../kernel/index.ts';
import type { PriceRecord } from '../../store/ports/index.ts';
import type { ReplayedTask } from './replay-tasks.ts';

/**
 * What an administrator agreed to when they had read a preview: the versions, everything that would
 * change, and the prices that apply. Of the tasks only whether any would be read otherwise or lose
 * files, since new ones come all the time.
 */
export function digestPreview(
  { replay, ...changes }: { replay: readonly ReplayedTask[] },
  key: string,
  prices: readonly PriceRecord[],
): string {
  const agreed = {
    ...changes,
    readsOtherwise: replay.some(({ changed }) => changed),
    losesFiles: replay.some(({ lostArtifacts }) => lostArtifacts.length > 0),
    prices: prices.flatMap(({ pluginKey, model, expression }) =>
      pluginKey === key || pluginKey === '*' ? [[pluginKey, model, expression]] : [],
    ),
  };
  return sha256Hex(canonicalJson(JSON.stringify(agreed)));
}
