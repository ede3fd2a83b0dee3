import { Anchor } from '@mantine/core';

/**
 * An address that somebody else wrote: a link where it is one of the web, else the text that it is.
 */
export function ExternalLink({ address, name = address }: { address: string; name?: string }) {
  if (!/^https?:\/\//i.test(address)) return name;
  return (
    <Anchor href={address} target="_blank" rel="noreferrer noopener" inherit>
      {name}
    </Anchor>
  );
}
