/** One entry of a choice menu; `lang` is set if the text is in another language. */
export type MenuChoice = { value: string; text: string; lang?: string };
