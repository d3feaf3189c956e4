/** Draws what has changed since the first plan: by a sign and words, beside what it was, struck out. */
import type { ZoneOffsets } from './clock.ts';
import { icon, make } from './dom.ts';
import type { ShownSlot } from './frames.ts';
import type { Text } from './german.ts';
import { changeParts } from './lines.ts';

/** @param said times of this day are written without their date */
export function drawChange(
  text: Text,
  offsets: ZoneOffsets,
  slot: ShownSlot,
  now: number,
  said = now,
): HTMLElement | false {
  const parts = changeParts(text, offsets, slot, now, said);
  if (!slot.change || parts.length === 0) return false;
  const words = parts.flatMap(({ says, was }, index) => [
    index > 0 && ' · ',
    says,
    was && ' ',
    Boolean(was) && make('s', {}, was),
  ]);
  return make('p', { class: 'change' }, icon(slot.change.kind), make('span', {}, ...words));
}
