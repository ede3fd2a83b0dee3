/** What opens a row: its first link or button. */
const opener = 'a[href], button:not([disabled])';
const rows = 'main table tbody tr, main [data-list-row]';

/** Where the keys were last, so that they go on there when one comes back to the list. */
let last = { page: '', at: -1 };

/**
 * Moves the focus to the opener of the next row of the page's list, or of the one before. Enter
 * then opens it, as with any link.
 */
export function moveInList(step: 1 | -1): void {
  const targets = [...document.querySelectorAll<HTMLElement>(rows)].flatMap((row) => {
    const target = row.querySelector<HTMLElement>(opener);
    return target === null ? [] : [{ row, target }];
  });
  if (targets.length === 0) return;
  const present = targets.findIndex(({ row }) => row.contains(document.activeElement));
  const page = location.pathname + location.search;
  const from = present < 0 && last.page === page ? last.at : present;
  const next = from < 0 ? (step === 1 ? 0 : targets.length - 1) : from + step;
  const at = Math.max(0, Math.min(next, targets.length - 1));
  last = { page, at };
  const found = targets[at];
  found?.target.focus();
  found?.row.scrollIntoView({ block: 'nearest' });
}
