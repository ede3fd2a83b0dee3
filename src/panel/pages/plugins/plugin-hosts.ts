type Reach = { base?: string | null | undefined; allowed?: readonly string[] | undefined };

/** What a plugin may reach: the host of its own address and those that it names. */
export const pluginHosts = ({ base, allowed = [] }: Reach): string[] => [...(base ? [readHost(base)] : []), ...allowed];

const readHost = (address: string): string => (URL.canParse(address) ? new URL(address).host : address);
