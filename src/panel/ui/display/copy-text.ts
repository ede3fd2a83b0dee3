/**
 * Puts a text on the clipboard; false when the browser allows neither way. The clipboard's own
 * interface exists in secure contexts only, so over plain HTTP on a local network a selected text
 * field and the old command do it.
 */
export async function copyText(text: string): Promise<boolean> {
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard !== undefined) {
    try {
      await clipboard.writeText(text);
      return true;
    } catch {
      // Refused by a permission: the old way may still work.
    }
  }
  const textarea = document.createElement('textarea');
  const focused = document.activeElement;
  textarea.value = text;
  textarea.readOnly = true;
  textarea.style.position = 'fixed';
  textarea.style.opacity = '0';
  document.body.append(textarea);
  textarea.select();
  const copied = document.execCommand('copy');
  textarea.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
