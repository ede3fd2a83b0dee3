import { Anchor } from '@mantine/core';

/** An address from a third party: a link if it is a web address, else plain text. */
export function ExternalLink({ address, name = address }: { address: string; name?: string }) {
  if (!/^https?:\/\//i.test(address)) return name;
  return (
    <Anchor href={address} target="_blank" rel="noreferrer noopener" inherit underline="always">
      {name}
    </Anchor>
  );
}
