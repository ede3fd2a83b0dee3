import type { Page } from 'playwright-core';

const productNames = ['Google Veo on Vertex AI', 'OpenAI Videos, OpenAI Responses'];

/**
 * Runs of four words or more in Latin letters, outside of code, names, quotations and what is
 * marked as English.
 */
export const findEnglish = (page: Page): Promise<string[]> =>
  page.evaluate((names) => {
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (parent === null || parent.closest('script, noscript, style, pre, code, q, [lang="en"]')) continue;
      const unquoted = (node.textContent ?? '').replaceAll(/“[^”]*”/g, '');
      const [sentence] = /[A-Za-z’']{2,}(?:[ ,]+[A-Za-z’']+){3,}/.exec(unquoted) ?? [];
      if (sentence !== undefined && !names.includes(sentence)) found.push(sentence);
    }
    return found;
  }, productNames);
