/** `aspect_ratio` as "Aspect ratio". */
export function humanizeFieldName(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
