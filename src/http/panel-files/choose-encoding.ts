/** The first of these encodings that the client accepts; `q=0` refuses one. */
export function chooseEncoding<Name extends string>(request: Request, names: readonly Name[]): Name | undefined {
  const accepted = new Set(
    (request.headers.get('accept-encoding') ?? '')
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .filter((part) => !/;\s*q=0(\.0+)?$/.test(part))
      .map((part) => part.split(';', 1)[0]),
  );
  return names.find((name) => accepted.has(name));
}
