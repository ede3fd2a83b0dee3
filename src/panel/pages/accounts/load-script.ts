const timeoutMs = 15_000;

/**
 * Loads a script of another origin into `parent`. The content security policy must allow it.
 * `attributes` are set before it loads. Rejects if loading fails or takes longer than 15 s.
 */
export function loadScript(
  parent: HTMLElement,
  src: string,
  attributes: Readonly<Record<string, string>> = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    const fail = (): void => reject(new Error(`${src} did not come.`));
    setTimeout(fail, timeoutMs);
    for (const [name, value] of Object.entries(attributes)) script.setAttribute(name, value);
    script.async = true;
    script.addEventListener('load', () => resolve());
    script.addEventListener('error', fail);
    script.src = src;
    parent.append(script);
  });
}
