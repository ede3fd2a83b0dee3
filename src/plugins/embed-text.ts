import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The text of a file of any type, by its path from this folder. Imported as a macro: the call runs
 * when the program is bundled, so an executable contains the text and needs no file.
 */
export const embedText = (path: string): string => readFileSync(join(import.meta.dir, path), 'utf8');
