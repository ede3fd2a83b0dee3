type Reach = { base?: string | null | undefined; allowed?: readonly string[] | undefined };

/** The hosts that a plugin may reach: that of its base URL and those it declares. */
export const pluginHosts = ({ base, allowed = [] }: Reach): string[] => [...(base ? [readHost(base)] : []), ...allowed];

const readHost = (address: string): string => (URL.canParse(address) ? new URL(address).host : address);
