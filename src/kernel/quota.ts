/** Quota is what balances, prices and ledger lines count in: integers. */
export const QUOTA_PER_USD = 500_000;

/** One billion USD, for a balance, an allowance or a budget; sums stay safe integers. */
export const MAX_QUOTA = QUOTA_PER_USD * 1_000_000_000;
