/** The playground with a model chosen. */
export const playgroundPath = (plugin: string, model: string): string =>
  `/playground?${new URLSearchParams({ plugin, model })}`;
