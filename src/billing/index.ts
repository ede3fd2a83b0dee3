/**
 * Owns: prices, usage facts' cost, the ledger's rules (reserve, settle, refund). May touch: the
 * store's prices, ledger and usage rows. Never touches: plugins, channels, HTTP. Money moves only
 * inside a transaction that the caller opened for its state change.
 */
export {
  type AccountStatements,
  createAccountStatements,
  type MonthStatement,
  type StatementPeriod,
  type StatementRow,
} from './account-statement.ts';
export {
  type Billing,
  type BillingSettings,
  createBilling,
  type Quote,
  type QuoteRequest,
} from './billing.ts';
export { findProblem, findUnpriced, type OfferedModel, type PriceProblem } from './check-prices.ts';
export { billingErrors } from './errors.ts';
export { type BillExplanation, explainBill } from './explain-bill.ts';
export { createMemoryHolds, type Hold, type MemoryHolds } from './memory-holds.ts';
export { parsePriceExpression } from './parse-price.ts';
export type { DeclaredFact } from './price-book.ts';
export {
  INCREMENT_EVENT,
  mergeReport,
  PART_OF_TOTAL_EVENT,
  REPORT_MARGIN,
  type ReportedFact,
  readOutput,
  TOOL_CALL_ITEM,
  TOOL_USAGE,
  USAGE_COUNTS,
  USAGE_TOTALS,
} from './reported-usage.ts';
export type { Ended, FinalBill, ReservedTask } from './settle.ts';
export { exemplifyPrice, type PriceSummary, scaleSummary, summarizePrice } from './summarize-price.ts';
export { checkCostPrices, type VendorCost, vendorCost } from './vendor-cost.ts';
