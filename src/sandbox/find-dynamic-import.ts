import { parse, type Token, tokTypes } from 'acorn';

/**
 * Where the source has an `import(…)` expression, 1-based; QuickJS would only refuse it once it runs. Source that does not
 * parse has none: QuickJS tells what is wrong with it.
 */
export function findDynamicImport(source: string): { line: number; column: number } | undefined {
  let last: Token | undefined;
  let found: Token | undefined;
  try {
    parse(source, {
      ecmaVersion: 'latest',
      sourceType: 'module',
      locations: true,
      onToken(token) {
        if (token.type === tokTypes.parenL && last?.type === tokTypes._import) found ??= last;
        last = token;
      },
    });
  } catch {
    return undefined;
  }
  return found?.loc ? { line: found.loc.start.line, column: found.loc.start.column + 1 } : undefined;
}
