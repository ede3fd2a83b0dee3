import type { Page } from 'playwright-core';

/**
 * Texts that their place cuts off. A text with an ellipsis says the rest on hover, but not the
 * label of a button, which says what it does.
 */
export const findCutTexts = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const labels =
      'button, [role="tab"], [role="menuitem"], .mantine-Button-label, .mantine-Tabs-tabLabel, .mantine-Menu-itemLabel';
    const cut: string[] = [];
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      const { overflowX, textOverflow, display } = getComputedStyle(element);
      if (overflowX === 'visible' || overflowX === 'auto' || overflowX === 'scroll' || display === 'inline') continue;
      if (element.scrollWidth <= element.clientWidth + 1 || element.clientWidth < 4) continue;
      if (element.closest('input, textarea, pre, code, svg, canvas, [aria-hidden="true"]')) continue;
      const isAction = element.matches(labels);
      if (textOverflow === 'ellipsis' && !isAction) {
        element.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
        if (element.closest('[title]') !== null) continue;
      }
      const text = element.textContent?.trim() ?? '';
      if (text !== '') cut.push(`${element.tagName} “${text.slice(0, 60)}” is cut off`);
    }
    return cut;
  });

/** Rows of lists of more than four lines on a phone, and actions of a page in a second row. */
export const findTallParts = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const most = 108;
    const rows = [...document.querySelectorAll<HTMLElement>('table[data-brief] tbody tr')]
      .filter((row) => row.querySelector('[aria-expanded="true"]') === null && row.offsetHeight > most)
      .map((row) => `the row “${row.innerText.slice(0, 40)}” is ${row.offsetHeight} px high`);
    // Segmented controls may take a row each.
    const actions = document.querySelector('[data-page-actions]:not(:has(.mantine-SegmentedControl-root))');
    // An open menu leaves elements of its own beside its button.
    const tops = [...(actions?.querySelectorAll(':scope > button, :scope > a') ?? [])].flatMap((action) => {
      if (!action.checkVisibility()) return [];
      const { top, height } = action.getBoundingClientRect();
      return [Math.round(top + height / 2)];
    });
    return [...rows, ...(new Set(tops).size > 1 ? ['the actions of the page take more than one row'] : [])];
  });

/** Controls that a finger misses. Links inside of a text are as high as their line. */
export const findSmallTargets = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const least = 44;
    // A short word is as wide as it is.
    const leastWide = 24;
    const controls =
      'a[href], button, select, textarea, input:not([type="hidden"]), summary, [role="tab"], [role="menuitem"], [role="option"], [role="radio"]';
    // What lies below an open dialog, menu or list of choices is reached once it is closed.
    const layers = [...document.querySelectorAll('[role="dialog"], [role="menu"], [role="listbox"]')];
    const root = layers.filter((layer) => layer.checkVisibility()).at(-1) ?? document.body;
    const readTarget = (control: HTMLElement): HTMLElement =>
      control.matches('input')
        ? (control.closest<HTMLElement>('label, [class*="-body"], .mantine-Input-input') ??
          control.parentElement ??
          control)
        : control;
    const small: string[] = [];
    for (const control of root.querySelectorAll<HTMLElement>(controls)) {
      if (!control.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (
        control.matches(':disabled, [tabindex="-1"]') ||
        control.closest('[aria-hidden="true"], .cm-editor, .mantine-Pill-root')
      )
        continue;
      const { display } = getComputedStyle(control);
      if (control.matches('a') && display === 'inline' && control.parentElement?.textContent !== control.textContent)
        continue;
      const target = readTarget(control);
      const before = target.getBoundingClientRect();
      if (before.width < 2 || (before.width >= leastWide - 0.5 && before.height >= least - 0.5)) continue;
      target.scrollIntoView({ block: 'center' });
      const { left, top, width, height } = target.getBoundingClientRect();
      const [x, y] = [left + width / 2, top + height / 2];
      const isHit = (dx: number, dy: number): boolean => {
        const hit = document.elementFromPoint(x + dx, y + dy);
        return hit !== null && (target.contains(hit) || hit.closest('label')?.contains(control) === true);
      };
      const reach = least / 2 - 1;
      const isWide = width >= leastWide - 0.5 || (isHit(reach, 0) && isHit(-reach, 0));
      const isHigh = height >= least - 0.5 || (isHit(0, reach) && isHit(0, -reach));
      if (isWide && isHigh) continue;
      const name = control.getAttribute('aria-label') ?? control.textContent?.trim() ?? '';
      small.push(`${control.tagName} “${name.slice(0, 40)}” is ${Math.round(width)} × ${Math.round(height)}`);
    }
    // Further down, the bar covers a part of some control.
    window.scrollTo(0, 0);
    return small;
  });
