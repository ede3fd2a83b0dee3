/**
 * The shape of the generated `build/panel/manifest.gen.ts`: the panel's built files as the server
 * serves them.
 */

/**
 * Stands in `indexHtml` where the response's nonce goes: `<meta name="csp-nonce"
 * content="__CSP_NONCE__">`.
 */
export const NONCE_PLACEHOLDER = '__CSP_NONCE__';

export type PanelFile = {
  /** The path under which browsers ask for it, for instance `/assets/main-4f2a91c0.js`. */
  readonly path: string;
  /**
   * The bytes as `Bun.file` opens them: what `import … with { type: 'file' }` gives, in the binary
   * too.
   */
  readonly file: string;
  /** The same bytes precompressed, where that made them smaller. */
  readonly encodings: { readonly br?: string; readonly gzip?: string };
  /** With charset for texts. */
  readonly contentType: string;
  /** True when the name carries a hash of the content: cached for a year. */
  readonly immutable: boolean;
  /** Quoted, strong, without an encoding's suffix: `"4f2a91c0…"`. */
  readonly etag: string;
};

export type PanelManifest = {
  readonly files: readonly PanelFile[];
  /** The text of `index.html` with `NONCE_PLACEHOLDER`; empty when the panel has not been built. */
  readonly indexHtml: string;
};
