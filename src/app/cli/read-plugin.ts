import { readText } from './with-sandbox.ts';

/** The source of a plugin file, as an upload would get it. */
export const readPlugin = async (file: string): Promise<string> => readText(file);
