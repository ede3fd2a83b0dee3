/**
 * Imported with `{ type: 'file' }`: the path of the file, inside the executable where the program
 * is compiled.
 */
declare module '*/wasm' {
  const path: string;
  export default path;
}
