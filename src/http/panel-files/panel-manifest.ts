/**
 * The shape of the generated `build/panel/manifest.gen.ts`: the panel's built files, for the
 * server.
 */

/**
 * The placeholder of the response's nonce in `indexHtml`:
 * `<meta name="csp-nonce" content="__CSP_NONCE__">`.
 */
export const NONCE_PLACEHOLDER = '__CSP_NONCE__';

export type PanelFile = {
  /** The path that browsers request, for instance `/assets/main-4f2a91c0.js`. */
  readonly path: string;
  /**
   * A path for `Bun.file`, as `import … with { type: 'file' }` gives it. It works in the compiled
   * binary too. Absent where the file is stored compressed.
   */
  readonly file?: string;
  /** The path of the file as Brotli, where that is smaller. */
  readonly brotli?: string;
  /** Includes the charset of text files. */
  readonly contentType: string;
  /**
   * Quoted and strong, without the suffix of an encoding: `"4f2a91c0…"`. Absent where the name
   * contains a hash of the content: browsers keep such a file for a year and never ask again.
   */
  readonly etag?: string;
};

export type PanelManifest = {
  readonly files: readonly PanelFile[];
  /** The text of `index.html` with `NONCE_PLACEHOLDER`; empty when the panel has not been built. */
  readonly indexHtml: string;
};
