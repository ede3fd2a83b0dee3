import { defineSentences } from '../kernel/index.ts';

/** Why a price expression is refused; the panel has each in its languages. */
export const billingSentences = defineSentences('billing', {
  expression_empty: 'The expression is empty. Write a number of USD, for example 0.05 * u("seconds").',
  expression_length: 'The expression is longer than {{max}} characters.',
  expression_unparsed: 'The expression does not parse: {{fault}}',
  expression_tail: 'There is text after the end of the expression.',
  expression_depth: 'The expression is nested too deeply.',
  expression_literal: 'Only numbers, texts and true or false may be written out.',
  expression_name: '"{{name}}" is not known. Use u("field"), model or action.',
  expression_operator: 'The operator {{operator}} is not allowed.',
  expression_nullish: 'The operator ?? is not allowed.',
  expression_call: 'Only u() and min, max, abs, ceil, floor, round may be called.',
  expression_field: 'u() takes one quoted field name, for example u("seconds").',
  expression_function: '"{{name}}" is not a known function. Use u, min, max, abs, ceil, floor or round.',
  expression_arguments: '{{name}}() needs a value.',
  expression_node: 'A {{node}} is not allowed in a price.',
  model_empty: 'The model is empty.',
  model_unpriced: 'The model "{{model}}" has no price. An administrator can set one under Prices.',
  fact_missing: 'The request has no usage fact "{{fact}}".',
  price_with_facts: 'With the facts {{facts}}: {{fault}}',
  fact_undeclared: 'u("{{fact}}") is not declared by the plugin. Declared usage facts: {{known}}.',
});
