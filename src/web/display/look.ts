/** The colour and the logo of the tenant, in the head of the page. */
import { dimmed, inkOn } from '../ink.ts';
import { byId, make, show } from './dom.ts';

export type Look = { colour: string | null; logo: string | null };

export function drawLook({ colour, logo }: Look, isNight: boolean): void {
  const { style, dataset } = document.documentElement;
  const shown = colour && (isNight ? dimmed(colour) : colour);
  if (shown) {
    dataset['brand'] = '';
    style.setProperty('--brand', shown);
    style.setProperty('--brand-ink', inkOn(shown));
  } else delete dataset['brand'];
  show(byId('logo'), logo, () => [logo && make('img', { src: `../logo?${logo}`, alt: '' })]);
}
