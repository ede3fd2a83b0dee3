import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listMissingPluginTexts, listMissingTexts } from '../check-texts.ts';
import { root } from '../hash-inputs.ts';
import { requireTexts } from './require-texts.ts';

export type Release = {
  version: string;
  commit: string;
  /** When the commit was made, in seconds: the time of every file in the release. */
  time: number;
  /** Whether the commit has the tag of this version. */
  isTagged: boolean;
};

/**
 * What the checkout releases. The version is the one of package.json, which a tag must agree with.
 *
 * @throws when the tag has another version, the tree is not the commit's, or a language lacks texts
 *   (unless `mayDiffer`)
 */
export async function describeRelease({ mayDiffer }: { mayDiffer: boolean }): Promise<Release> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const changed = await git('status', '--porcelain');
  if (changed !== '' && !mayDiffer) {
    throw new Error(`Commit everything first, or say --allow-changes:\n${changed}`);
  }
  if (!mayDiffer) requireTexts([...listMissingTexts(), ...(await listMissingPluginTexts())]);
  const tags = (await git('tag', '--points-at', 'HEAD')).split('\n').filter((tag) => /^v\d/.test(tag));
  const other = tags.find((tag) => tag !== `v${version}`);
  if (other !== undefined) throw new Error(`The tag ${other} and package.json (${version}) do not agree.`);
  return {
    version,
    commit: await git('rev-parse', 'HEAD'),
    time: Number(process.env.SOURCE_DATE_EPOCH ?? (await git('log', '-1', '--format=%ct'))),
    isTagged: tags.length > 0,
  };
}

async function git(...args: string[]): Promise<string> {
  const child = Bun.spawn(['git', ...args], { cwd: root, stdout: 'pipe', stderr: 'pipe' });
  const [out, problem, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`git ${args[0]}: ${problem.trim()}`);
  return out.trim();
}
