/** Factory plugins are embedded as source text: they run in the sandbox, never here. */
declare module '*/factory/demo.js' {
  const source: string;
  export default source;
}
