/** Makes elements without markup in strings, so that texts of bookings stay text. */
import { icons } from './icons.ts';

type Child = Node | string | false | null | undefined;

export function make(tag: string, attributes: Record<string, string>, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const name of Object.keys(attributes)) element.setAttribute(name, attributes[name] ?? '');
  add(element, children);
  return element;
}

export function button(id: string, tap: () => void, ...children: Child[]): HTMLElement {
  const element = make('button', { type: 'button', id }, ...children);
  element.addEventListener('click', tap);
  return element;
}

function add(element: Element, children: Child[]): void {
  for (const child of children) if (child) element.append(child);
}

const shown = new WeakMap<Element, string>();

/**
 * Replaces the content of an element, unless `key` is the same as last time.
 * @returns whether it was replaced
 */
export function show(element: Element, key: unknown, children: () => Child[]): boolean {
  const text = JSON.stringify(key);
  if (shown.get(element) === text) return false;
  shown.set(element, text);
  const focused = element.contains(document.activeElement) ? document.activeElement?.id : '';
  element.textContent = '';
  add(element, children());
  if (focused) document.getElementById(focused)?.focus();
  return true;
}

export function byId(id: string): HTMLElement {
  return document.getElementById(id) as HTMLElement;
}

const isWide = (box: Element) => box.scrollWidth > box.clientWidth + 1;

/** Scales the type of a box to the largest of these factors that fits; below a limit words may break. */
export function scale(box: HTMLElement, most = 1, least = 0): void {
  for (const factor of [1.4, 1.2, 1, 0.92, 0.84, 0.76, 0.68, 0.6, 0.52]) {
    if (factor > most || factor < least) continue;
    box.style.overflowWrap = factor > Math.max(0.76, least) ? 'normal' : 'break-word';
    box.style.setProperty('--fit', String(factor));
    if (![box, ...box.querySelectorAll('p')].some(isWide) && box.scrollHeight <= box.clientHeight + 1) return;
  }
}

/**
 * Scales the type of each box to the largest factor with which it fits, and breaks words only where none fits otherwise. A box
 * that fits with none loses its last lines.
 */
export function fitTiles(boxes: readonly HTMLElement[]): void {
  const isOver = (box: HTMLElement) => box.scrollHeight > box.clientHeight + 1 || isWide(box);
  let open = boxes;
  for (const wrap of ['normal', 'anywhere'])
    for (const factor of [1.3, 1.15, 1, 0.9, 0.8]) {
      for (const box of open) {
        box.style.overflowWrap = wrap;
        box.style.setProperty('--fit', String(factor));
      }
      open = open.filter(isOver);
    }
  for (const box of open) while (isOver(box) && box.children.length > 2) box.lastElementChild?.remove();
}

export function icon(name: keyof typeof icons): SVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', icons[name]);
  svg.append(path);
  return svg;
}
