import { exemplifyPrice, scaleSummary, summarizePrice } from '../../billing/index.ts';
import type { ModelFigures } from '../../reports/index.ts';
import type { CallableModel } from '../../surfaces/index.ts';

/** The days that the usual time and the success rate cover. */
export const FIGURE_DAYS = 30;

type UsageExamples = CallableModel['plugin']['manifest']['usageExamples'];
type PricedModel = { model: string; expression: string | undefined; ratio: number; examples?: UsageExamples };

/** What a model costs a group, in USD: in parts, or else by the plugin's examples. */
export function describePrice({ model, expression, ratio, examples: given = [] }: PricedModel) {
  const summary = expression === undefined ? null : summarizePrice(expression);
  const isSummarized = expression === undefined || summary !== null;
  const examples = isSummarized ? [] : exemplifyPrice(expression, model, given);
  return {
    priced: expression !== undefined,
    summary: summary && scaleSummary(summary, ratio),
    examples: examples.map(({ label, usd }) => ({ label, usd: usd * ratio })),
  };
}

/** The usual time and the success rate of a model, over all users; null where no task ended. */
export function describeUse(figures: ModelFigures | undefined) {
  const ended = figures === undefined ? 0 : figures.succeeded + figures.failed;
  return {
    usual_seconds: figures?.p50Seconds ?? null,
    success_rate: figures === undefined || ended === 0 ? null : figures.succeeded / ended,
  };
}

/** Figures by plugin and model. */
export const indexFigures = (models: readonly ModelFigures[]): ReadonlyMap<string, ModelFigures> =>
  new Map(models.map((model) => [`${model.pluginKey}\n${model.model}`, model]));
