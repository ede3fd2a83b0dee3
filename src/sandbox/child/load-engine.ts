import { readFileSync } from 'node:fs';
import release from '@jitl/quickjs-wasmfile-release-sync';
import wasmPath from '@jitl/quickjs-wasmfile-release-sync/wasm' with { type: 'file' };
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { createEncodeValues, type EncodeValues } from './encode-values.ts';
import { findHeapLayout, type HeapLayout } from './memory-image.ts';
import { createStringifyValues, type StringifyValues } from './stringify-values.ts';

/** Pages of 64 KiB that the WebAssembly build needs at least: 16 MiB. */
const INITIAL_PAGES = 256;

/** QuickJS, compiled once per process. */
export type Engine = {
  layout: HeapLayout;
  encodeValues: EncodeValues;
  stringifyValues: StringifyValues;
  /** Creates an instance with its own memory, which WebAssembly itself caps at `memoryBytes`. */
  open(memoryBytes: number): Promise<Instance>;
};

type Instance = {
  quickjs: QuickJSWASMModule;
  memory: GuestMemory;
  exports: EngineExports;
  imports: GuestImports;
};
type QuickJSFFI = InstanceType<Awaited<ReturnType<QuickJSSyncVariant['importFFI']>>>;

/**
 * The functions of an instance, below the library. `malloc` throws when there is no memory.
 * `context` gives the last context that was made.
 */
export type EngineExports = {
  ffi: QuickJSFFI;
  malloc(bytes: number): number;
  free(address: number): void;
  context(): ReturnType<QuickJSFFI['QTS_NewContext']>;
};

/**
 * `ranOut`: the last attempt to grow was refused. QuickJS may have no memory left to report that;
 * it then throws null.
 */
export type GuestMemory = WebAssembly.Memory & { ranOut: boolean };

/**
 * `readSystem`: the guest has called a function of this process other than the host function, the
 * interrupt handler and the growth of its memory, for example the clock. These three set `expected`
 * when they end; any other function counts, known or not.
 */
export type GuestImports = { readSystem: boolean; expected: boolean };

export async function loadEngine(): Promise<Engine> {
  const wasmModule = new WebAssembly.Module(readFileSync(wasmPath));
  const open = async (memoryBytes: number): Promise<Instance> => {
    const maximum = Math.max(INITIAL_PAGES, Math.floor(memoryBytes / 65_536));
    const imports: GuestImports = { readSystem: false, expected: false };
    const memory = watchGrowth(new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum }), imports);
    const emscriptenModule = { instantiateWasm: instantiateWatched(wasmModule, imports) };
    const { variant, exports } = adaptModule(newVariant(release, { emscriptenModule, wasmMemory: memory }));
    return { quickjs: await newQuickJSWASMModuleFromVariant(variant), memory, exports, imports };
  };

  const probe = await open(INITIAL_PAGES * 65_536);
  return {
    layout: findHeapLayout(probe.memory, probe.exports.malloc),
    encodeValues: createEncodeValues(),
    stringifyValues: createStringifyValues(),
    open,
  };
}

/** Instantiates the module with imports that note when the guest reads something of the system. */
function instantiateWatched(wasmModule: WebAssembly.Module, watch: GuestImports) {
  const watched =
    (fn: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): unknown => {
      watch.expected = false;
      const result = fn(...args);
      if (!watch.expected) watch.readSystem = true;
      return result;
    };
  return async (
    imports: WebAssembly.Imports,
    onSuccess: (instance: WebAssembly.Instance) => void,
  ): Promise<WebAssembly.Exports> => {
    const wrapped: WebAssembly.Imports = {};
    for (const [module, members] of Object.entries(imports)) {
      wrapped[module] = Object.fromEntries(
        Object.entries(members).map(([name, value]) => [
          name,
          typeof value === 'function' ? watched(value as (...args: unknown[]) => unknown) : value,
        ]),
      );
    }
    const instance = await WebAssembly.instantiate(wasmModule, wrapped);
    onSuccess(instance);
    return instance.exports;
  };
}

/**
 * Records in `ranOut` whether the memory could grow. Emscripten first asks for more than it needs,
 * and for less when that is refused, so only the last answer counts.
 */
function watchGrowth(memory: WebAssembly.Memory, imports: GuestImports): GuestMemory {
  const grow = memory.grow.bind(memory);
  const watched: GuestMemory = Object.assign(memory, { ranOut: false });
  watched.grow = (pages) => {
    watched.ranOut = true;
    const before = grow(pages);
    watched.ranOut = false;
    imports.expected = true;
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
 * `exports` may be used once the module is loaded.
 */
function adaptModule(variant: QuickJSSyncVariant): { variant: QuickJSSyncVariant; exports: EngineExports } {
  const exports = {} as EngineExports;
  const adapted: QuickJSSyncVariant = {
    ...variant,
    async importFFI() {
      const Library = await variant.importFFI();
      return class extends Library {
        constructor(module: ConstructorParameters<typeof Library>[0]) {
          super(module);
          const newContext = this.QTS_NewContext;
          this.QTS_NewContext = (runtime, intrinsics) => {
            const context = newContext(runtime, intrinsics);
            exports.context = () => context;
            return context;
          };
          exports.ffi = this;
        }
      };
    },
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
        exports.malloc = emscripten._malloc;
        exports.free = emscripten._free;
        return emscripten;
      };
    },
  };
  return { variant: adapted, exports };
}
