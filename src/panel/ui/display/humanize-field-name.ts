/** `aspect_ratio` as "Aspect ratio". */
export function writeFieldName(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
