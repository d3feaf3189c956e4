/** In which order a browser draws the parts of a line, which names in Hebrew or Arabic can change. */
import type { Page } from 'playwright-core';

/** Finds the visible text that has all of `parts`. @returns how far from the left each of them begins, once it is on one line */
export const leftsOf = (page: Page, ...parts: string[]): Promise<number[]> =>
  page.evaluate<number[]>(`((parts) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const isMeant = (node) => parts.every((part) => node.data.includes(part)) && node.parentElement.checkVisibility();
    while (texts.nextNode() && !isMeant(texts.currentNode));
    const text = texts.currentNode;
    text.parentElement.style.whiteSpace = 'nowrap';
    return parts.map((part) => {
      const range = document.createRange();
      range.setStart(text, text.data.indexOf(part));
      range.setEnd(text, text.data.indexOf(part) + part.length);
      return range.getBoundingClientRect().left;
    });
  })(${JSON.stringify(parts)})`);
