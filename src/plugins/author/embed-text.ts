import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The text of a file, by its path from this folder. Imported as a macro, it runs when the program
 * is bundled and leaves the text in its place: an executable has it without the file, whatever the
 * file's kind.
 */
export const embedText = (path: string): string => readFileSync(join(import.meta.dir, path), 'utf8');
