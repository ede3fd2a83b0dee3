/**
 * Made by the panel's build from the JSON files of this folder: one entry a file, under its name.
 */
declare module 'panel:languages' {
  /**
   * `tag` is the file's `language.tag`, for `lang` attributes; `loadFirst` fetches the texts of the
   * pages before sign-in, `loadRest` all others, each a chunk of its own.
   */
  type Part = () => Promise<{ default: Partial<import('./texts.ts').Texts> }>;
  export const languages: Readonly<Record<string, { name: string; tag: string; loadFirst: Part; loadRest: Part }>>;
}
