import { Anchor, Code, Divider, List, Stack, Text, Title } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';
import { type Block, type Inline, parseMarkdown } from './parse-markdown.ts';

/** Renders simple Markdown below a heading of level 1. */
export function Markdown({ source }: { source: string }) {
  let level = 1;
  const blocks = parseMarkdown(source).map((block) => {
    // Heading levels are never skipped: screen reader users navigate by them.
    if (block.kind === 'heading') level = Math.min(block.level + 1, level + 1);
    return { block, level };
  });
  return <Stack gap={16}>{blocks.map(({ block, level: order }, index) => renderBlock(block, order, index))}</Stack>;
}

const sizes: Readonly<Record<number, number>> = { 2: 21, 3: 18, 4: 16 };

function renderBlock(block: Block, order: number, key: number): ReactNode {
  switch (block.kind) {
    case 'heading':
      return (
        <Title key={key} order={order as 2 | 3 | 4 | 5 | 6} fz={sizes[order] ?? 15} mt={order === 2 ? 16 : 6}>
          <InlineText parts={block.text} />
        </Title>
      );
    case 'list':
      return (
        <List key={key} type={block.ordered ? 'ordered' : 'unordered'} spacing={6} withPadding>
          {block.items.map((item, index) => (
            <List.Item key={index} lh={1.65}>
              <InlineText parts={item} />
            </List.Item>
          ))}
        </List>
      );
    case 'rule':
      return <Divider key={key} my={8} />;
    case 'paragraph':
      return (
        <Text key={key} lh={1.7} style={{ whiteSpace: 'pre-line', overflowWrap: 'anywhere' }}>
          <InlineText parts={block.text} />
        </Text>
      );
  }
}

function InlineText({ parts }: { parts: readonly Inline[] }) {
  return parts.map((part, index) => <Fragment key={index}>{renderInline(part)}</Fragment>);
}

function renderInline(part: Inline): ReactNode {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'code':
      return <Code>{part.text}</Code>;
    case 'strong':
      return (
        <strong>
          <InlineText parts={part.children} />
        </strong>
      );
    case 'emphasis':
      return (
        <em>
          <InlineText parts={part.children} />
        </em>
      );
    case 'link':
      return (
        <Anchor href={part.href} rel="noopener noreferrer" target="_blank" inherit underline="always">
          <InlineText parts={part.children} />
        </Anchor>
      );
  }
}
