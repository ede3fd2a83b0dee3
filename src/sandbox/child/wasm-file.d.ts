/**
 * Imported with `{ type: 'file' }`: the file's path, which a compiled program has inside itself.
 */
declare module '*/wasm' {
  const path: string;
  export default path;
}
