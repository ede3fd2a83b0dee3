/** A text that ends in an ellipsis tells the rest while the pointer rests on it. */
export function titleCutTexts(): void {
  document.addEventListener('pointerover', ({ target }) => {
    if (!(target instanceof HTMLElement) || target.title !== '') return;
    const cut = findCutText(target);
    // A title around it may say more, such as a full time.
    if (cut === null || cut.closest('[title]') !== null) return;
    cut.title = cut instanceof HTMLInputElement ? cut.value : (cut.textContent ?? '').trim();
  });
}

/** The text itself may be in an element below the one that cuts it. */
function findCutText(target: HTMLElement): HTMLElement | null {
  for (const element of [target, target.parentElement]) {
    if (element === null) continue;
    if (element instanceof HTMLInputElement) return element.scrollWidth > element.clientWidth ? element : null;
    const { textOverflow, webkitLineClamp } = getComputedStyle(element);
    if (textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth) return element;
    if (webkitLineClamp !== 'none' && element.scrollHeight > element.clientHeight) return element;
  }
  return null;
}
