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
  type Ended,
  type FinalBill,
  type Quote,
  type QuoteRequest,
  type ReservedTask,
} from './billing.ts';
export { findProblem, findUnpriced, type OfferedModel, type PriceProblem } from './check-prices.ts';
export { billingErrors } from './errors.ts';
export { type BillExplanation, explainBill, QUOTA_PER_USD } from './explain-bill.ts';
export type { DeclaredFact } from './price-book.ts';
export { parsePriceExpression } from './price-expression.ts';
export { exemplifyPrice, type PriceSummary, scaleSummary, summarizePrice } from './summarize-price.ts';
export { checkCostPrices, type VendorCost, vendorCost } from './vendor-cost.ts';
