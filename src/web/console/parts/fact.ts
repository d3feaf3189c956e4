/** A term and its value in a list of facts. */
import { type Child, html } from './html.ts';

/** Nothing where there is no value; 0 is one. */
export const fact = (name: string, value: Child): Child =>
  value !== null && value !== undefined && value !== false && value !== '' && html`<dt>${name}</dt><dd>${value}</dd>`;
