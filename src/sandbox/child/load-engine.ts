import { readFileSync } from 'node:fs';
import release from '@jitl/quickjs-wasmfile-release-sync';
import wasmPath from '@jitl/quickjs-wasmfile-release-sync/wasm' with { type: 'file' };
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { findHeapLayout, type HeapLayout } from './memory-image.ts';

/** Pages of 64 KiB that the WebAssembly build needs at least: 16 MiB. */
const INITIAL_PAGES = 256;

/** QuickJS, compiled once per process. */
export type Engine = {
  layout: HeapLayout;
  /** Creates an instance with its own memory, which WebAssembly itself caps at `memoryBytes`. */
  open(memoryBytes: number): Promise<Instance>;
};

type Instance = { quickjs: QuickJSWASMModule; memory: GuestMemory };

/**
 * `ranOut`: the last attempt to grow was refused. QuickJS may have no memory left to report that;
 * it then throws null.
 */
export type GuestMemory = WebAssembly.Memory & { ranOut: boolean };

export async function loadEngine(): Promise<Engine> {
  const wasmModule = new WebAssembly.Module(readFileSync(wasmPath));
  const open = async (memoryBytes: number, malloc: (allocate: (size: number) => number) => void) => {
    const maximum = Math.max(INITIAL_PAGES, Math.floor(memoryBytes / 65_536));
    const memory = watchGrowth(new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum }));
    const variant = adaptModule(newVariant(release, { wasmModule, wasmMemory: memory }), malloc);
    return { quickjs: await newQuickJSWASMModuleFromVariant(variant), memory };
  };

  let allocate: (size: number) => number = () => 0;
  const probe = await open(INITIAL_PAGES * 65_536, (malloc) => {
    allocate = malloc;
  });
  return { layout: findHeapLayout(probe.memory, allocate), open: (memoryBytes) => open(memoryBytes, () => {}) };
}

/**
 * Records in `ranOut` whether the memory could grow. Emscripten first asks for more than it needs,
 * and for less when that is refused, so only the last answer counts.
 */
function watchGrowth(memory: WebAssembly.Memory): GuestMemory {
  const grow = memory.grow.bind(memory);
  const watched: GuestMemory = Object.assign(memory, { ranOut: false });
  watched.grow = (pages) => {
    watched.ranOut = true;
    const before = grow(pages);
    watched.ranOut = false;
    return before;
  };
  return watched;
}

/**
 * Changes two things in the library's memory access.
 *
 * - The library does not check the result of `malloc`. Out of memory it would write to address 0,
 *   the guest's own data. Here `malloc` throws instead.
 * - The library copies text character by character. Here the runtime does, which halves the time of
 *   a call with 2 KB of arguments.
 *
 * `onModule` gets the allocator.
 */
function adaptModule(
  variant: QuickJSSyncVariant,
  onModule: (malloc: (size: number) => number) => void,
): QuickJSSyncVariant {
  return {
    ...variant,
    async importModuleLoader() {
      const imported = await variant.importModuleLoader();
      const outer = 'default' in imported ? imported.default : imported;
      const load = 'default' in outer ? outer.default : outer;
      return async (options) => {
        const emscripten = await load(options);
        const malloc = emscripten._malloc;
        emscripten._malloc = (size) => {
          const address = malloc(size);
          if (address === 0) throw new Error('out of memory');
          return address;
        };
        const encoder = new TextEncoder();
        emscripten.lengthBytesUTF8 = (text) => Buffer.byteLength(text);
        emscripten.stringToUTF8 = (text, at, capacity = 0) => {
          const { written } = encoder.encodeInto(text, emscripten.HEAPU8.subarray(at, at + capacity - 1));
          emscripten.HEAPU8[at + written] = 0;
        };
        emscripten.UTF8ToString = (at) => {
          const { buffer } = emscripten.HEAPU8;
          return Buffer.from(buffer, at, emscripten.HEAPU8.indexOf(0, at) - at).toString('utf8');
        };
        onModule(emscripten._malloc);
        return emscripten;
      };
    },
  };
}
