/**
 * Owns: prices, usage facts' cost, the ledger's rules (reserve, settle, refund). May touch: the
 * store's prices, ledger and usage rows. Never touches: plugins, channels, HTTP. Money moves only
 * inside a transaction that the caller opened for its state change.
 *
 * - `billing.ts` (`quote`) → `reserve.ts` → `final-bill.ts` → `settle.ts`: the way of a charge;
 *   `memory-holds.ts`: reservations that are not stored.
 * - `price-book.ts` finds a price, `parse-price.ts` and `evaluate-price.ts` read its expression,
 *   `validate-price.ts` refuses a wrong one when it is saved, `find-price-problems.ts` finds stored
 *   ones that apply to nothing, `summarize-price.ts` says one in words.
 * - `explain-bill.ts`, `account-statement.ts`: what a charge was made of, what a balance was.
 * - Balances, limits of keys and budgets are checked where their rows are locked:
 *   `store/repositories/money/decide-reservations.ts`, `enforce-budgets.ts`. When the period of a
 *   budget begins: `kernel/budget-periods.ts`.
 * - `reported-usage.ts`: facts that vendors report. More than twice what the request allowed is not
 *   believed: of relayed answers in `relay/usage/calculate-bill.ts`, of tasks in
 *   `tasks/state/collect-usage.ts`.
 * - `vendor-cost.ts`: what the vendor takes.
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
export { billingErrors } from './errors.ts';
export { type BillExplanation, explainBill } from './explain-bill.ts';
export { findProblem, findUnpriced, type OfferedModel, type PriceProblem } from './find-price-problems.ts';
export { createMemoryHolds, type Hold, type MemoryHolds } from './memory-holds.ts';
export { parsePriceExpression } from './parse-price.ts';
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
export type { DeclaredFact } from './validate-price.ts';
export { checkCostPrices, type VendorCost, vendorCost } from './vendor-cost.ts';
