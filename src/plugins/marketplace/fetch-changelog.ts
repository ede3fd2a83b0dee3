import { type Changelog, readChangelog } from '../market-index/read-changelog.ts';
import type { MarketPlugin, MarketSource, MarketVersion, ReadMarketFile } from '../market-index/types.ts';
import { decodeText } from './fetch-file.ts';

type Offered = { source: MarketSource; plugin: MarketPlugin; isSigned: boolean };

/**
 * What changed in a version: `CHANGELOG.md` beside its source, and the translations that it names.
 * Null: there is none. A signature covers a file by its hash alone, which none has of a changelog:
 * those of a signed source are not shown. Never rejects.
 */
export async function fetchChangelog(
  readFile: ReadMarketFile,
  { source, plugin, isSigned }: Offered,
  { url, version }: MarketVersion,
): Promise<Changelog | null> {
  if (isSigned) return null;
  const read = async (name: string) => {
    const bytes = await readFile(source, new URL(name, url).href, 'changelog');
    const text = bytes.ok ? decodeText(bytes.value) : bytes;
    return text.ok ? readChangelog(text.value, { key: plugin.key, version }) : undefined;
  };
  const own = await read('CHANGELOG.md');
  if (!own || own.sections.length === 0) return null;
  const translated = await Promise.all(
    Object.entries(own.translations).map(async ([locale, name]) => ({
      locale,
      sections: (await read(name))?.sections,
    })),
  );
  return {
    [own.locale]: own.sections,
    ...Object.fromEntries(
      translated.flatMap(({ locale, sections }) => (sections && sections.length > 0 ? [[locale, sections]] : [])),
    ),
  };
}
