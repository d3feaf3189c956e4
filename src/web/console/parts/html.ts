/** Markup: plain elements by `html`, own components by `h`, whose properties the compiler checks. */
import htm from 'htm';
import { h as build, type VNode } from 'preact';

export type Child = VNode | string | number | boolean | null | undefined | Child[];
export type Component<Properties> = (properties: Properties) => VNode | null;

type Keyed = { key?: string | number };

export const h = build as <Properties>(
  component: Component<Properties>,
  properties: NoInfer<Properties> & Keyed,
  ...children: Child[]
) => VNode;

export const html = htm.bind(build) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
