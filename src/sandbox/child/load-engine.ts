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

/** Pages of 64 KiB that the build asks for at the least (16 MiB). */
const INITIAL_PAGES = 256;

/** QuickJS, compiled once a process. */
export type Engine = {
  layout: HeapLayout;
  /**
   * A fresh instance with memory of its own, capped at `memoryBytes` by the WebAssembly machine
   * itself.
   */
  open(memoryBytes: number): Promise<Instance>;
};

type Instance = { quickjs: QuickJSWASMModule; memory: GuestMemory };

/**
 * `ranOut`: the last attempt to grow was refused. QuickJS itself may have no memory left to say so:
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
 * Emscripten asks for more than it needs at first and for less when that is refused: the last
 * answer counts.
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
 * Changes two things of the library's memory access. It writes to what `malloc` returns without
 * looking: at the end of memory that would be address 0, the guest's own data; here it throws. And
 * it copies text letter by letter; here the runtime does, which halves a call with 2 KB of
 * arguments. `onModule` gets the allocator.
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
        emscripten.stringToUTF8 = (text, at, room = 0) => {
          const { written } = encoder.encodeInto(text, emscripten.HEAPU8.subarray(at, at + room - 1));
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
