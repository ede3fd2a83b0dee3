import { Anchor, Code, Divider, List, Stack, Text, Title } from '@mantine/core';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { Fragment, type ReactNode } from 'react';

type Content = ReturnType<typeof fromMarkdown>['children'][number];
type PhrasingContent = Extract<Content, { type: 'paragraph' }>['children'][number];

/** The depth of lists and quotes that is shown as such. */
const maxDepth = 8;

export type MarkdownProps = {
  source: string;
  /** The page has a title: that of the text, a first heading of level 1, is left out. */
  isTitled?: boolean;
};

/**
 * Markdown as elements, below a heading of level 1. HTML and images are shown as the text they are
 * written as, and links lead to web and email addresses and pages of the panel only: nothing in it
 * can execute or load.
 */
export function MarkdownView({ source, isTitled = false }: MarkdownProps) {
  const all = fromMarkdown(source).children;
  const [first] = all;
  const shown = isTitled && first?.type === 'heading' && first.depth === 1 ? all.slice(1) : all;
  const highest = Math.min(...shown.map((block) => (block.type === 'heading' ? block.depth : 6)));
  let level = 1;
  const blocks = shown.map((block) => {
    // Heading levels are never skipped: screen reader users navigate by them.
    if (block.type === 'heading') level = Math.min(block.depth - highest + 2, level + 1);
    return { block, level };
  });
  return (
    <Stack gap={16}>
      {blocks.map(({ block, level: order }, index) => (
        <Fragment key={index}>{renderBlock(block, order, 0)}</Fragment>
      ))}
    </Stack>
  );
}

const sizes: Readonly<Record<number, number>> = { 2: 21, 3: 18, 4: 16 };

function renderBlock(block: Content, order: number, depth: number): ReactNode {
  switch (block.type) {
    case 'heading':
      return (
        <Title order={order as 2 | 3 | 4 | 5 | 6} fz={sizes[order] ?? 15} mt={order === 2 ? 16 : 6}>
          {renderInline(block.children)}
        </Title>
      );
    case 'paragraph':
      return (
        <Text lh={1.7} style={{ whiteSpace: 'pre-line', overflowWrap: 'anywhere' }}>
          {renderInline(block.children)}
        </Text>
      );
    case 'list':
      if (depth >= maxDepth) return null;
      return (
        <List
          type={block.ordered ? 'ordered' : 'unordered'}
          spacing={6}
          withPadding
          {...(block.ordered && block.start ? { start: block.start } : {})}
        >
          {block.children.map((item, index) => (
            <List.Item key={index} lh={1.65}>
              {item.children.map((child, place) => (
                <Fragment key={place}>
                  {child.type === 'paragraph' ? renderInline(child.children) : renderBlock(child, order, depth + 1)}
                </Fragment>
              ))}
            </List.Item>
          ))}
        </List>
      );
    case 'blockquote':
      if (depth >= maxDepth) return null;
      return (
        <Stack component="blockquote" gap={12} m={0} pl={16} c="dimmed">
          {block.children.map((child, index) => (
            <Fragment key={index}>{renderBlock(child, order, depth + 1)}</Fragment>
          ))}
        </Stack>
      );
    case 'code':
    case 'html':
      return (
        <Code block style={{ whiteSpace: 'pre-wrap' }}>
          {block.value}
        </Code>
      );
    case 'thematicBreak':
      return <Divider my={8} />;
    default:
      return null;
  }
}

const renderInline = (parts: readonly PhrasingContent[]): ReactNode =>
  parts.map((part, index) => <Fragment key={index}>{renderPart(part)}</Fragment>);

function renderPart(part: PhrasingContent): ReactNode {
  switch (part.type) {
    case 'text':
    case 'html':
      return part.value;
    case 'inlineCode':
      return <Code>{part.value}</Code>;
    case 'strong':
      return <strong>{renderInline(part.children)}</strong>;
    case 'emphasis':
      return <em>{renderInline(part.children)}</em>;
    case 'break':
      return <br />;
    case 'link':
      if (!isSafeLink(part.url)) return renderInline(part.children);
      return (
        <Anchor
          href={part.url}
          {...(part.url.startsWith('/') ? {} : { rel: 'noopener noreferrer', target: '_blank' })}
          inherit
          underline="always"
        >
          {renderInline(part.children)}
        </Anchor>
      );
    case 'image':
      return part.alt;
    default:
      return 'children' in part ? renderInline(part.children) : null;
  }
}

/**
 * Whether a link of a text leads to a web or email address, with its scheme written out, or to a
 * page of the panel. Browsers read `//host` and `/\host` as another site, and leave out tabs and
 * line ends, so a path has neither backslashes nor white space.
 */
const isSafeLink = (address: string): boolean => /^(?:https?:\/\/[^\s/]|mailto:[^\s]|\/(?!\/)[^\s\\]*$)/i.test(address);
