/** Made by the panel's build from the JSON files of this folder: one entry a file, under its name. */
declare module 'panel:languages' {
  /** `tag` is the file's `language.tag`, for `lang` attributes; `load` fetches the texts, a chunk of their own. */
  export const languages: Readonly<
    Record<string, { name: string; tag: string; load(): Promise<{ default: import('./texts.ts').Texts }> }>
  >;
}
