/** Markup: plain elements by `html`, own components by `h`, whose properties the compiler checks. */
import htm from 'htm';
import { h as build, options, type VNode } from 'preact';
import { inPlace } from '../../bidi.ts';

export type Child = VNode | string | number | boolean | null | undefined | Child[];
export type Component<Properties> = (properties: Properties) => VNode | null;

type Keyed = { key?: string | number };

export const h = build as <Properties>(
  component: Component<Properties>,
  properties: NoInfer<Properties> & Keyed,
  ...children: Child[]
) => VNode;

export const html = htm.bind(build) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

/** Isolates all texts that are drawn (bidi.ts); values of inputs stay as they are. */
export function drawInPlace(): void {
  const next = options.vnode;
  options.vnode = (node) => {
    // The properties of a text node are its text.
    if (typeof node.props === 'string') node.props = inPlace(node.props) as never;
    next?.(node);
  };
}
