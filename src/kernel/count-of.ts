/** `1 case`, `2 cases`. `many` stands beside other numbers than 1: `1 file is`, `2 files are`. */
export const countOf = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
