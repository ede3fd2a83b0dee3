/**
 * A release has every text of the panel and of the factory plugins in every language. Between
 * releases a missing one is shown in English.
 *
 * @throws when `missing` is not empty, with the list
 */
export function requireTexts(missing: readonly string[]): void {
  if (missing.length === 0) return;
  const next =
    'Translate them (node_modules/.bin/bun scripts/check-texts.ts --missing LANGUAGE), or say --allow-changes';
  throw new Error(`Languages lack ${missing.length} texts:\n${missing.join('\n')}\n${next}`);
}
